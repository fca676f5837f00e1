#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Explores the protocol of libgpumap/lease/README.md: every interleaving of jobs, with a kill at each step.

A state has the kernel's locks, the tickets, and the place of each job in its program. A job's next step changes the
state as the kernel would. Killing a job closes its files. All states that can be reached are visited, and in each:

  overlap    no GPU is held by two jobs
  partial    a job outside of the gate holds all of its GPUs or none
  stuck      if no job can move, all have ended
  order      a job does not get a GPU that was promised to an earlier one
"""

import itertools
import sys
from collections import deque

# What a job can do next.
START, GATE, CHOOSE, TAKE, TICKET, LEAVE, WAIT, RUN, ENDED = range(9)
FAULTS = ("", "no-gate", "no-watch", "hold-and-wait", "no-promise")


def promised(jobs, free, gpus):
    """The GPUs of each job, in the order of the queue, as choose.c gives them."""
    given, taken = [], set()
    for count, usable in jobs:
        can = [g for g in gpus if g in usable and g not in taken]
        now = [g for g in can if g in free]
        chosen = now[:count] if len(now) >= count else now + [g for g in can if g not in free][: count - len(now)]
        given.append((tuple(chosen), len(now) >= count))
        taken.update(chosen)
    return given


class Job:
    """at: its place; held: GPUs; got: GPUs that are locked so far; seen: the bell when it began to watch."""

    __slots__ = ("at", "held", "want", "ticket", "seen", "kills")

    def __init__(self, at=START, held=(), want=(), ticket=0, seen=0):
        self.at, self.held, self.want, self.ticket, self.seen = at, held, want, ticket, seen

    def key(self):
        return self.at, self.held, self.want, self.ticket, self.seen


class Model:
    def __init__(self, wishes, gpus, kills, fault=""):
        self.wishes, self.gpus, self.kills, self.fault = wishes, tuple(range(gpus)), kills, fault
        self.problems = []

    def first(self):
        return tuple(Job().key() for _ in self.wishes), None, 0, self.kills, 1

    def free(self, jobs):
        held = {g for job in jobs for g in job[1]}
        return {g for g in self.gpus if g not in held}

    def earlier(self, jobs, me):
        """The live tickets before one's own, with what they wait for; then one's own wish."""
        mine = jobs[me][3]
        before = sorted((job[3], i) for i, job in enumerate(jobs) if job[3] and i != me and (not mine or job[3] < mine))
        return [self.wishes[i] for _, i in before] + [self.wishes[me]]

    def successors(self, state):
        jobs, gate, bell, kills, number = state
        for i, job in enumerate(jobs):
            for after in self.step(state, i):
                yield ("job %d: %d" % (i, job[0]),) + after
            if kills and job[0] not in (START, ENDED):
                yield ("kill %d at %d" % (i, job[0]),) + self.end(state, i, kills - 1)

    def put(self, jobs, i, job):
        return jobs[:i] + (job,) + jobs[i + 1 :]

    def end(self, state, i, kills):
        """The kernel closes all files of the job: locks, gate, ticket, and the bell, which rings."""
        jobs, gate, bell, _, number = state
        rings = bool(jobs[i][1]) or bool(jobs[i][3])
        dead = Job(at=ENDED).key()
        return self.put(jobs, i, dead), (None if gate == i else gate), self.ring(jobs, bell, rings), kills, number

    def ring(self, jobs, bell, rings):
        return (bell + 1) if rings else bell

    def step(self, state, i):
        jobs, gate, bell, kills, number = state
        at, held, want, ticket, seen = jobs[i]

        def go(new, gate=gate, bell=bell, number=number, **change):
            job = Job(at, held, want, ticket, seen)
            job.at = new
            for name, value in change.items():
                setattr(job, name, value)
            return self.put(jobs, i, job.key()), gate, bell, kills, number

        if at == START:
            yield go(GATE, seen=0 if self.fault == "no-watch" else bell)
        elif at == GATE:
            if self.fault == "no-gate":
                yield go(CHOOSE)
            elif gate is None:
                yield go(CHOOSE, gate=i)
        elif at == CHOOSE:
            wishes = [self.wishes[i]] if self.fault == "no-promise" else self.earlier(jobs, i)
            chosen, enough = promised(wishes, self.free(jobs), self.gpus)[-1]
            if enough:
                self.check_order(jobs, i, chosen)
                yield go(TAKE, want=chosen)
            elif self.fault == "hold-and-wait":
                some = tuple(g for g in chosen if g in self.free(jobs))
                yield go(TICKET, held=tuple(sorted(set(held) | set(some))))
            else:
                yield go(TICKET)
        elif at == TAKE:
            left = [g for g in want if g not in held]
            if left and left[0] in self.free(jobs):
                yield go(TAKE, held=tuple(sorted(held + (left[0],))))
            elif left:  # taken meanwhile, which the gate rules out
                yield go(TAKE, held=tuple(sorted(held + (left[0],)))) if self.fault == "no-gate" else go(TICKET, held=())
            else:
                yield go(RUN, gate=None if gate == i else gate, ticket=0, want=(), bell=self.ring(jobs, bell, ticket))
        elif at == TICKET:
            yield go(LEAVE, ticket=ticket or number, number=number + (not ticket))
        elif at == LEAVE:
            yield go(WAIT, gate=None if gate == i else gate)
        elif at == WAIT:
            if self.fault == "no-watch":
                # It begins to watch only now, so what happened before is missed.
                if not seen:
                    yield go(WAIT, seen=bell + 1)
                elif bell >= seen:
                    yield go(GATE, seen=0)
            elif bell != seen:
                yield go(GATE, seen=bell)
        elif at == RUN:
            yield self.end(state, i, kills)

    def check_order(self, jobs, i, chosen):
        before = self.earlier(jobs, i)[:-1]
        for other, _ in promised(before, self.free(jobs), self.gpus):
            if set(other) & set(chosen):
                self.problems.append("order: job %d gets GPUs %s, promised before" % (i, chosen))

    def check(self, state, moves):
        jobs = state[0]
        for a, b in itertools.combinations(range(len(jobs)), 2):
            if set(jobs[a][1]) & set(jobs[b][1]):
                self.problems.append("overlap: jobs %d and %d" % (a, b))
        for i, job in enumerate(jobs):
            if job[0] == WAIT and job[1]:
                self.problems.append("partial: job %d waits and holds %s" % (i, job[1]))
        if not moves and any(job[0] != ENDED for job in jobs):
            self.problems.append("stuck: %s" % (jobs,))

    def canonical(self, state):
        """Bells and tickets count only relative to each other, so that states repeat."""
        jobs, gate, bell, kills, number = state
        tickets = sorted(job[3] for job in jobs if job[3])
        small = tuple(
            (at, held, want, tickets.index(t) + 1 if t else 0, self.relative(seen, bell))
            for at, held, want, t, seen in jobs
        )
        return small, gate, 0 if self.fault != "no-watch" else 1, kills, len(tickets) + 1

    def relative(self, seen, bell):
        if self.fault == "no-watch":
            return 0 if not seen else 2 if seen > bell else 1
        return 0 if seen == bell else -1

    def explore(self):
        first = self.canonical(self.first())
        seen, queue = {first}, deque([first])
        while queue and not self.problems:
            state = queue.popleft()
            moves = list(self.successors(state))
            # A kill is not a move of a job: no one has to kill.
            self.check(state, [m for m in moves if not m[0].startswith("kill")])
            for move in moves:
                after = self.canonical(move[1:])
                if after not in seen:
                    seen.add(after)
                    queue.append(after)
        return len(seen)


def main():
    """Prints TAP. The faults show that the properties can fail."""
    any_of = lambda n: frozenset(range(n))
    cases = [
        ("three jobs, two GPUs", [(1, any_of(2)), (2, any_of(2)), (1, any_of(2))], 2, 3, ""),
        ("three jobs want all", [(2, any_of(2))] * 3, 2, 3, ""),
        ("three jobs, three GPUs", [(2, any_of(3)), (3, any_of(3)), (1, any_of(3))], 3, 3, ""),
        ("jobs with GPUs of their own", [(2, any_of(3)), (1, frozenset([2])), (2, frozenset([0, 1]))], 3, 3, ""),
        ("without the gate", [(1, any_of(1))] * 2, 1, 0, "no-gate"),
        ("with a watch that begins late", [(1, any_of(1))] * 2, 1, 0, "no-watch"),
        ("with GPUs that are kept while waiting", [(1, any_of(2)), (2, any_of(2))], 2, 1, "hold-and-wait"),
        ("without promises", [(1, any_of(2)), (2, any_of(2)), (1, any_of(2))], 2, 0, "no-promise"),
    ]
    print("1..%d" % len(cases))
    failed = 0
    for number, (name, wishes, gpus, kills, fault) in enumerate(cases, 1):
        model = Model(wishes, gpus, kills, fault)
        states = model.explore()
        good = bool(model.problems) == bool(fault)
        failed += not good
        print("%sok %d - %s: %d states%s" % ("" if good else "not ", number, name, states,
                                             ", " + model.problems[0] if model.problems else ""))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
