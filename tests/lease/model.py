#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Explores the protocol of libgpumap/lease/README.md: every interleaving of jobs, with a kill at each step.

A state has the kernel's locks, the tickets, and the place of each job in its program. A job's next step changes the
state as the kernel would. Killing a job closes its files. A GPU that was used stays warm until it cools, and a strict
job does not call a warm GPU free. All states that can be reached are visited, and in each:

  overlap    no GPU is held by two jobs
  partial    a job outside of the gate holds all of its GPUs or none
  stuck      if no job can move, and all GPUs are cool, all jobs have ended
  order      a job does not get a GPU that was promised to an earlier one
  head       if the first in the queue could be served, it still can when another job took GPUs
  starved    no job that waits is passed more than LIMIT times onto GPUs that it could use when cool
"""

import itertools
import sys
from collections import deque

# What a job can do next.
START, GATE, CHOOSE, TAKE, TICKET, LEAVE, WAIT, RUN, ENDED = range(9)
FAULTS = ("", "no-gate", "no-watch", "hold-and-wait", "no-promise", "own-terms", "own-order", "no-limit")
LIMIT = 1


def promised(wishes):
    """The GPUs of each wish, in the order of the queue, as choose.c gives them."""
    given, taken = [], set()
    for count, usable, free, firm, order in wishes:
        now = [g for g in order if g in usable and g in free and g not in taken]
        enough = len(now) >= count
        given.append((tuple(now[:count]), enough))
        taken.update(now[:count] if enough else usable if firm else now)
    return given


class Job:
    """at: its place; held: GPUs that it has locked; want: those that it chose; seen: the bell when it began to watch;
    passes: how often it was passed."""

    __slots__ = ("at", "held", "want", "ticket", "seen", "passes")

    def __init__(self, at=START, held=(), want=(), ticket=0, seen=0, passes=0):
        self.at, self.held, self.want, self.ticket, self.seen, self.passes = at, held, want, ticket, seen, passes

    def key(self):
        return self.at, self.held, self.want, self.ticket, self.seen, self.passes


class Model:
    def __init__(self, wishes, gpus, kills, fault="", strict=(), warm=(), backwards=()):
        """wishes: how many GPUs, and of which; strict: the jobs that are; warm: the GPUs that begin so; backwards: the
        jobs that prefer the highest number."""
        self.wishes, self.gpus, self.kills, self.fault = wishes, tuple(range(gpus)), kills, fault
        self.strict, self.warm, self.problems = frozenset(strict), frozenset(warm), []
        self.orders = [self.gpus[:: -1 if i in backwards else 1] for i in range(len(wishes))]

    def first(self):
        return tuple(Job().key() for _ in self.wishes), None, 0, self.kills, 1, self.warm

    def free(self, jobs):
        held = {g for job in jobs for g in job[1]}
        return {g for g in self.gpus if g not in held}

    def free_for(self, jobs, warm, i):
        return self.free(jobs) - (warm if i in self.strict else set())

    def before(self, jobs, me):
        """The jobs with live tickets before one's own, in their order."""
        mine = jobs[me][3]
        return [i for _, i in sorted((job[3], i) for i, job in enumerate(jobs)
                                     if job[3] and i != me and (not mine or job[3] < mine))]

    def earlier(self, jobs, warm, me, fault=""):
        """What the jobs before this one wait for; then one's own wish."""
        return [self.wishes[i] + (self.free_for(jobs, warm, me if fault == "own-terms" else i),
                                  jobs[i][5] >= LIMIT and i != me and self.fault != "no-limit",
                                  self.orders[me if fault == "own-order" else i])
                for i in self.before(jobs, me) + [me]]

    def successors(self, state):
        jobs, gate, bell, kills, number, warm = state
        held = {g for job in jobs for g in job[1]}
        for g in sorted(warm - held) if self.strict else ():
            # The first in the queue asks again from time to time.
            yield "GPU %d cools" % g, jobs, gate, bell + 1, kills, number, warm - {g}
        for i, job in enumerate(jobs):
            for after in self.step(state, i):
                yield ("job %d: %d" % (i, job[0]),) + after
            if kills and job[0] not in (START, ENDED):
                yield ("kill %d at %d" % (i, job[0]),) + self.end(state, i, kills - 1)

    def put(self, jobs, i, job):
        return jobs[:i] + (job,) + jobs[i + 1 :]

    def end(self, state, i, kills):
        """The kernel closes all files of the job: locks, gate, ticket, and the bell, which rings."""
        jobs, gate, bell, _, number, warm = state
        rings = bool(jobs[i][1]) or bool(jobs[i][3])
        dead = Job(at=ENDED).key()
        warm = warm | set(jobs[i][1]) if self.strict else warm
        return self.put(jobs, i, dead), (None if gate == i else gate), self.ring(jobs, bell, rings), kills, number, warm

    def ring(self, jobs, bell, rings):
        return (bell + 1) if rings else bell

    def step(self, state, i):
        jobs, gate, bell, kills, number, warm = state
        at, held, want, ticket, seen, passes = jobs[i]

        def go(new, gate=gate, bell=bell, number=number, jobs=jobs, **change):
            job = Job(at, held, want, ticket, seen, passes)
            job.at = new
            for name, value in change.items():
                setattr(job, name, value)
            return self.put(jobs, i, job.key()), gate, bell, kills, number, warm

        if at == START:
            yield go(GATE, seen=0 if self.fault == "no-watch" else bell)
        elif at == GATE:
            if self.fault == "no-gate":
                yield go(CHOOSE)
            elif gate is None:
                yield go(CHOOSE, gate=i)
        elif at == CHOOSE:
            wishes = self.earlier(jobs, warm, i, self.fault)
            chosen, enough = promised(wishes[-1:] if self.fault == "no-promise" else wishes)[-1]
            if enough:
                self.check_order(jobs, warm, i, chosen)
                yield go(TAKE, want=chosen, jobs=self.passed(jobs, warm, i, chosen))
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
                yield go(RUN, gate=None if gate == i else gate, ticket=0, want=(), passes=0,
                         bell=self.ring(jobs, bell, ticket))
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

    def passed(self, jobs, warm, me, chosen):
        """The jobs, with a pass for each that cannot be served now and could use a chosen GPU."""
        before = self.before(jobs, me)
        for i, (_, enough) in zip(before, promised(self.earlier(jobs, warm, me))):
            if not enough and set(chosen) & self.wishes[i][1]:
                passes = jobs[i][5] + 1
                if passes > LIMIT:
                    self.problems.append("starved: job %d is passed for the %d. time" % (i, passes))
                jobs = self.put(jobs, i, jobs[i][:5] + (passes,))
        return jobs

    def check_order(self, jobs, warm, i, chosen):
        for other, _ in promised(self.earlier(jobs, warm, i)[:-1]):
            if set(other) & set(chosen):
                self.problems.append("order: job %d gets GPUs %s, promised before" % (i, chosen))
        for head in self.before(jobs, i)[:1]:
            count, usable = self.wishes[head]
            can = self.free_for(jobs, warm, head) & usable
            if len(can) >= count > len(can - set(chosen)):
                self.problems.append("head: job %d could be served before job %d took %s" % (head, i, chosen))

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
        jobs, gate, bell, kills, number, warm = state
        tickets = sorted(job[3] for job in jobs if job[3])
        small = tuple(
            (at, held, want, tickets.index(t) + 1 if t else 0, self.relative(seen, bell), passes)
            for at, held, want, t, seen, passes in jobs
        )
        return small, gate, 0 if self.fault != "no-watch" else 1, kills, len(tickets) + 1, warm

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
        ("a strict job among others", [(1, any_of(2)), (2, any_of(2)), (1, any_of(2))], 2, 1, "", [1], [0]),
        ("two strict jobs", [(1, any_of(2)), (1, any_of(2)), (1, any_of(2))], 2, 1, "", [0, 1], [0, 1]),
        ("with promises by one's own terms", [(1, any_of(2)), (1, frozenset([1])), (1, any_of(2))], 2, 0, "own-terms",
         [0], [0]),
        ("jobs with orders of their own", [(1, any_of(2)), (2, any_of(2)), (1, any_of(2))], 2, 1, "", [0], [0], [0, 1]),
        ("with promises by one's own order", [(1, any_of(2)), (2, any_of(2)), (1, any_of(2))], 2, 0, "own-order", [], [],
         [0]),
        ("with passes without limit", [(1, any_of(1))] * 3, 1, 0, "no-limit", [0], [0]),
    ]
    print("1..%d" % len(cases))
    failed = 0
    for number, (name, wishes, gpus, kills, fault, *terms) in enumerate(cases, 1):
        model = Model(wishes, gpus, kills, fault, *terms)
        states = model.explore()
        good = bool(model.problems) == bool(fault)
        failed += not good
        print("%sok %d - %s: %d states%s" % ("" if good else "not ", number, name, states,
                                             ", " + model.problems[0] if model.problems else ""))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
