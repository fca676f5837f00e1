#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Explores the protocol of libgpumap/lease/README.md: every interleaving of jobs, with a kill at each step.

A state has the kernel's locks, the tickets, and the place of each job in its program. A job's next step changes the
state as the kernel would. Killing a job closes its files. A GPU that was used stays warm until it cools, and a strict
job does not call a warm GPU free. A job may have one of K slots; a whole GPU is one of 1. It may have a MIG instance,
which is a slot with a fixed number that counts by itself. Jobs may have different folders, with a gate, a queue and
slots in each, and one sysfs. All states that can be reached are visited, and in each:

  overlap    the jobs of a GPU are not more than the smallest K of theirs, or have different MIG instances
  partial    a job outside of the gate holds all of its GPUs or none
  stuck      if no job can move, and all GPUs are cool, all jobs have ended
  order      a job does not get a GPU or slot that was promised to an earlier one, which still gets as many
  head       if the first in the queue could be served, it still can when another job took GPUs
  starved    no job that waits is passed more than LIMIT times onto GPUs that it could use when cool
  inside     a job inside a lease holds no GPU that the lease does not hold
  apart      a job inside a lease waits only for others inside the same one
  late       a job that takes a GPU promised to one that waits has released it when that one could be served by the ends
             of the leases that it waits for, which are known
  limit      no user has more GPUs than the limit
  blocked    no job waits for GPUs that are kept for a job whose user has reached the limit
  own        a job does not pass an earlier one of its user that waits for that

A job may have a lease that ends at a time (--for), or earlier. Time passes in ticks, at most MARGIN of them between a
choice and the begin of its lease. Others know the end of a lease once it has begun.

A job inside another starts while that one runs, chooses among its GPUs or slots of them, and has locks, a gate, a queue
and a bell that only jobs inside the same one share. It inherits the files of the outer job, so the GPUs of that one
stay locked until all inside have ended, and the outer job itself waits for these.

A user may have a limit of GPUs, which each job counts in the gate by the locks.
"""

import itertools
import sys
from collections import deque

# What a job can do next.
START, GATE, CHOOSE, TAKE, TICKET, LEAVE, WAIT, RUN, ENDED = range(9)
FAULTS = ("", "no-gate", "no-watch", "hold-and-wait", "no-promise", "own-terms", "own-order", "no-limit", "own-slots",
          "shared-at-once", "no-guard", "moves", "closed", "one-space", "no-margin", "believe", "head-only",
          "unknown-is-late", "firm-yields", "skips", "no-count", "kept", "own-passes")
LIMIT = 1
MARGIN = 1
MANY = 64  # slots that a GPU without a job has

# The locks of a job on a GPU: its vendor file exclusively, shared, or neither for the moment in which the kernel
# converts the lock; or shared and a slot, which is its number. A job that takes a slot has the guard before these.
# Inside a lease the folder's file of the GPU is locked instead, and there is no guard: that step locks nothing.
EXCLUSIVE, SHARED, CONVERTING, GUARD, BLOCKED = -1, -2, -3, -4, -5


class Load:
    """How many jobs each GPU has, and the smallest K of theirs."""

    def __init__(self, gpus):
        self.of = {g: (0, MANY) for g in gpus}

    def add(self, g, slots):
        used, most = self.of[g]
        self.of[g] = used + 1, min(most, slots)

    def close(self, g):
        self.of[g] = self.of[g][0], 0

    def room(self, g, slots):
        used, most = self.of[g]
        return max(0, min(most, slots) - used)

    def copy(self):
        other = Load(())
        other.of = dict(self.of)
        return other


def promised(wishes, load):
    """The GPUs of each wish, in the order of the queue, as choose.c gives them. Adds them to the load."""
    given = []
    for count, usable, free, firm, order, slots in wishes:
        now = [g for g in order if g in usable and g in free and load.room(g, slots)]
        now.sort(key=lambda g: -load.room(g, slots))
        enough = len(now) >= count
        given.append((tuple(now[:count]), enough))
        for g in now[:count]:
            load.add(g, slots)
        for g in usable if firm and not enough else ():
            load.close(g)
    return given


def worse(wishes, load, chosen, slots, yields=()):
    """Whether some of these wishes, but those that yield, gets less after a job took a slot of these GPUs."""
    before, after = load.copy(), load.copy()
    for g in chosen:
        after.add(g, slots)
    pairs = zip(promised(wishes, before), promised(wishes, after))
    return any(had > has or len(old) > len(new)
               for k, ((old, had), (new, has)) in enumerate(pairs) if k not in yields)


def backfill(wishes, load, yields, fault):
    """The same for a job whose lease ends before the wishes that yield can be served: what is promised to these comes
    after what is not promised."""
    left, bound = load.copy(), load.copy()
    given = promised(wishes[:-1], left)
    if fault == "skips":
        promised([wish for k, wish in enumerate(wishes[:-1]) if k not in yields], bound)
    for k, (gpus, enough) in enumerate(given if fault != "skips" else ()):
        for g in gpus if enough or k not in yields else ():
            bound.add(g, wishes[k][5])
        for g in wishes[k][1] if wishes[k][3] and not enough and k not in yields else ():
            bound.close(g)
    count, usable, free, _, order, slots = wishes[-1]
    now = [g for g in order if g in usable and g in free and (left.room(g, slots) or bound.room(g, slots))]
    now.sort(key=lambda g: not left.room(g, slots))
    return tuple(now[:count]), len(now) >= count


def choose(wishes, load, careful=True):
    """The GPUs of the last wish, and whether they are enough."""
    count, usable, free, _, order, slots = wishes[-1]
    left = load.copy()
    promised(wishes[:-1], left)
    now = [g for g in order if g in usable and g in free and left.room(g, slots)
           and not (careful and worse(wishes[:-1], load, [g], slots))]
    now.sort(key=lambda g: -left.room(g, slots))
    chosen = tuple(now[:count])
    enough = len(chosen) == count and not (careful and worse(wishes[:-1], load, chosen, slots))
    return chosen, enough


class Job:
    """at: its place; held: GPUs with its lock on each; want: those that it chose; seen: the bell when it began to
    watch; passes: how often it was passed; left: how many ticks until its lease ends, or before it must begin, or None;
    over: the jobs to which its GPUs were promised, and in how many ticks these can be served."""

    __slots__ = ("at", "held", "want", "ticket", "seen", "passes", "left", "over")

    def __init__(self, at=START, held=(), want=(), ticket=0, seen=0, passes=0, left=None, over=()):
        self.at, self.held, self.want, self.ticket, self.seen, self.passes = at, held, want, ticket, seen, passes
        self.left, self.over = left, over

    def key(self):
        return self.at, self.held, self.want, self.ticket, self.seen, self.passes, self.left, self.over


class Model:
    def __init__(self, wishes, gpus, kills, fault="", strict=(), warm=(), backwards=(), folders=(), begin=(),
                 outer=(), ends=(), forged=(), users=(), most=0):
        """wishes: how many GPUs, of which, of how many slots each, and which MIG instance of them; strict: the jobs that
        are; warm: the GPUs that begin so; backwards: the jobs that prefer the highest number; folders: that of each job, if it is not 0; begin:
        the first jobs, if they do not begin at the start; outer: pairs of a job and the one that it is inside; ends:
        pairs of a job and the time of its lease; forged: the same, in notes that others have written; users: that of each
        job; most: how many GPUs a user may have, 0 without limit."""
        self.ends, self.forged = dict(ends), dict(forged)
        self.users, self.most = users, most
        self.outer = dict(outer)
        # Each job that has others inside is a space of locks, with one folder; the last one is that of all others.
        self.spaces = sorted(set(self.outer.values()))
        self.space = [(0 if fault == "one-space" else self.spaces.index(self.outer[i]))
                      if i in self.outer else len(self.spaces)
                      for i in range(len(wishes))]
        self.wishes = [wish[:2] for wish in wishes]
        self.slots = [wish[2] if len(wish) > 2 else 1 for wish in wishes]
        self.instance = [wish[3] if len(wish) > 3 else None for wish in wishes]
        self.part = [slots > 1 or instance is not None for slots, instance in zip(self.slots, self.instance)]
        folders = folders or [0] * len(wishes)
        self.folders = [max(folders) + 1 + self.space[i] if i in self.outer else folder
                        for i, folder in enumerate(folders)]
        self.gpus, self.kills, self.fault = tuple(range(gpus)), kills, fault
        self.strict, self.warm, self.problems = frozenset(strict), frozenset(warm), []
        self.orders = [self.gpus[:: -1 if i in backwards else 1] for i in range(len(wishes))]
        self.begin = [job.key() for job in begin] + [Job().key()] * (len(wishes) - len(begin))

    def first(self):
        gates = (None,) * (max(self.folders) + 1)
        bells = (0,) * (len(self.spaces) + 1)
        return tuple(self.begin), gates, bells, self.kills, 1 + max(job[3] for job in self.begin), self.warm

    def locks(self, jobs, g, space, me=None):
        """The locks on a GPU in a space, with their jobs, but one's own."""
        return [(i, lock) for i, job in enumerate(jobs) for at, lock in job[1]
                if at == g and i != me and self.space[i] == space]

    def usable(self, jobs, i):
        """The GPUs that a job may have: inside a lease, those of the lease."""
        usable = self.wishes[i][1]
        return usable & {g for g, _ in jobs[self.outer[i]][1]} if i in self.outer else usable

    def inside(self, jobs, me):
        """Whether a job inside this one goes on."""
        return any(jobs[i][1] or jobs[i][0] not in (START, ENDED) for i, outer in self.outer.items() if outer == me)

    def load(self, jobs, me):
        """What a job sees: the slots in its folder, and the vendor file, which no slot of its folder may explain. Other
        instances of the GPU explain it, and are no load."""
        load = Load(self.gpus)
        for g in self.gpus:
            locks, explained = self.locks(jobs, g, self.space[me]), False
            for i, lock in locks:
                if lock >= 0 and self.folders[i] == self.folders[me]:
                    explained = True
                    if self.instance[me] is None or self.instance[i] in (None, self.instance[me]):
                        load.add(g, MANY if self.fault == "own-slots" else self.slots[i])
            unexplained = any(lock not in (CONVERTING, GUARD) for _, lock in locks) and not explained
            if unexplained and self.fault != "shared-at-once" or any(lock == EXCLUSIVE for _, lock in locks):
                load.close(g)
        return load

    def free_for(self, jobs, warm, me, i):
        """What a job with the terms of job i calls free. Processes beside slots are there by right."""
        load = self.load(jobs, me)
        return {g for g in self.gpus if load.room(g, self.slots[i])
                and not (i in self.strict and g in warm and not (self.slots[i] > 1 and load.of[g][0]))}

    def before(self, jobs, me):
        """The jobs of this folder with live tickets before one's own, in their order, that wait for the same kind: GPUs,
        or the same instance of them."""
        mine = jobs[me][3]
        return [i for _, i in sorted((job[3], i) for i, job in enumerate(jobs)
                                     if job[3] and i != me and (not mine or job[3] < mine)
                                     and self.folders[i] == self.folders[me] and self.instance[i] == self.instance[me])]

    def earlier(self, jobs, warm, me, fault=""):
        """What the jobs before this one wait for; then one's own wish."""
        return [(self.wishes[i][0], self.usable(jobs, i),
                 self.free_for(jobs, warm, me, me if fault == "own-terms" else i),
                 jobs[i][5] >= LIMIT and i != me and self.fault != "no-limit",
                 self.orders[me if fault == "own-order" else i], self.slots[i])
                for i in self.before(jobs, me) + [me]]

    def end_on(self, jobs, g, me, i, notes):
        """In how many ticks a GPU is free for job i by the end of its leases; 0: perhaps at any moment."""
        holders = {k for k, lock in self.locks(jobs, g, self.space[me])}
        if self.slots[i] > 1 and any(self.part[k] for k in holders):
            return 0
        unknown = 99 if notes and self.fault == "unknown-is-late" else 0
        forged = self.forged if notes and self.fault == "believe" else {}
        return max((jobs[k][6] if k in self.ends and jobs[k][0] == RUN else forged.get(k, unknown) for k in holders),
                   default=0)

    def ready(self, jobs, warm, me, i, notes=False):
        """In how many ticks job i can be served at the earliest, if no lease ends before its time; by the notes, as the
        protocol sees it, or in truth."""
        free = self.free_for(jobs, warm, me, i)
        times = sorted(0 if g in free else self.end_on(jobs, g, me, i, notes) for g in self.usable(jobs, i))
        return times[self.wishes[i][0] - 1] if len(times) >= self.wishes[i][0] else 0

    def yields(self, jobs, warm, me, wishes):
        """The wishes before this job that can be served only after its lease has ended."""
        if me not in self.ends or self.part[me] and self.instance[me] is None:
            return ()
        length = self.ends[me] + (MARGIN if self.fault != "no-margin" else 0)
        given, before = promised(wishes[:-1], self.load(jobs, me)), self.before(jobs, me)
        return [k for k, i in enumerate(before)
                if not given[k][1] and (not wishes[k][3] or self.fault == "firm-yields")
                and self.ready(jobs, warm, me, before[0] if self.fault == "head-only" else i, True) >= length]

    def tick(self, state):
        """Time passes, if it matters, no lease is over, and no job that begins one takes longer than the margin."""
        jobs, gate, bell, kills, number, warm = state
        left = [job[6] for job in jobs if job[6] is not None]
        if left and min(left) > 0:
            jobs = tuple(job[:6] + (job[6] and job[6] - 1, tuple((i, max(0, due - 1)) for i, due in job[7]))
                         for job in jobs)
            yield "tick", jobs, gate, bell, kills, number, warm

    def limited(self, jobs, me, among):
        """Which of the jobs, in their order, have to wait for others of their user. One that does not fit into the rest
        of the limit gets none of it, nor do later ones of that user."""
        if not self.most:
            return [False] * len(among)
        left = {user: self.most - sum(len(job[1]) for k, job in enumerate(jobs) if self.users[k] == user and k != me)
                for user in self.users}
        waits = []
        for i in among:
            user, count = self.users[i], self.wishes[i][0]
            waits.append(count > left[user])
            left[user] = left[user] - count if not waits[-1] else left[user] if self.fault == "own-passes" else 0
        return waits

    def may_choose(self, jobs, wishes, me):
        """The wishes without those of jobs at the limit; None if this job is one. No GPU is promised to these."""
        waits = self.limited(jobs, me, self.before(jobs, me) + [me])
        if waits[-1] and self.fault != "no-count":
            return None
        none = (0, frozenset(), frozenset(), False, (), 1)
        late = [waits[k] and self.fault != "kept" for k in range(len(wishes) - 1)] + [False]
        return [none if late[k] else wish for k, wish in enumerate(wishes)]

    def successors(self, state):
        jobs, gate, bell, kills, number, warm = state
        yield from self.tick(state)
        held = {g for job in jobs for g, _ in job[1]}
        for g in sorted(warm - held) if self.strict else ():
            # The first in the queue asks again from time to time.
            yield "GPU %d cools" % g, jobs, gate, tuple(b + 1 for b in bell), kills, number, warm - {g}
        for i, job in enumerate(jobs):
            for after in self.step(state, i):
                yield ("job %d: %d" % (i, job[0]),) + after
            if kills and job[0] not in (START, ENDED):
                yield ("kill %d at %d" % (i, job[0]),) + self.end(state, i, kills - 1)

    def put(self, jobs, i, job):
        return jobs[:i] + (job,) + jobs[i + 1 :]

    def end(self, state, i, kills):
        """The kernel closes all files of the job: locks, gate, ticket, and the bell, which rings. What jobs inside it
        inherited stays open until the last of them has ended."""
        jobs, gate, bell, _, number, warm = state
        keeps = jobs[i][1] if self.inside(jobs, i) and self.fault != "closed" else ()
        bell = self.ring(i, bell, bool(jobs[i][1]) != bool(keeps) or bool(jobs[i][3]))
        warm = warm | {g for g, _ in jobs[i][1]} if self.strict else warm
        jobs = self.put(jobs, i, Job(at=ENDED, held=keeps).key())
        outer = self.outer.get(i)
        while outer is not None and jobs[outer][0] == ENDED and jobs[outer][1] and not self.inside(jobs, outer):
            jobs = self.put(jobs, outer, Job(at=ENDED).key())
            bell = self.ring(outer, bell, True)
            outer = self.outer.get(outer)
        return jobs, self.leave(gate, i), bell, kills, number, warm

    def ring(self, i, bell, rings):
        """Only those hear it that look for GPUs of the same space. Those of another folder ask again from time to
        time."""
        return tuple(b + (rings and space == self.space[i]) for space, b in enumerate(bell))

    def leave(self, gate, i):
        return tuple(None if job == i else job for job in gate)

    def lock(self, jobs, i, g):
        """The next lock of the job on a GPU that it chose: the lock that it has then; None: the kernel refuses it."""
        mine, others, slots = dict(jobs[i][1]).get(g), self.locks(jobs, g, self.space[i], i), self.slots[i]
        here = [(self.slots[k], lock) for k, lock in others if lock >= 0 and self.folders[k] == self.folders[i]
                and (self.instance[k] is None) == (self.instance[i] is None)]
        locked = any(lock not in (CONVERTING, GUARD) for _, lock in others)
        if mine is None and self.part[i]:
            guarded = any(lock in (CONVERTING, GUARD) or lock == EXCLUSIVE and self.part[k] for k, lock in others)
            return BLOCKED if guarded and self.fault != "no-guard" and i not in self.outer else GUARD
        if mine is None or mine == GUARD and not here and self.fault != "shared-at-once":
            return None if locked and not (self.fault == "no-gate" and not self.part[i]) else EXCLUSIVE
        if mine == EXCLUSIVE:
            return CONVERTING
        if mine in (GUARD, CONVERTING):
            return None if any(lock == EXCLUSIVE for _, lock in others) else SHARED
        fixed = self.instance[i]
        numbers = [n for n in (range(slots) if fixed is None else [fixed]) if (slots, n) not in here]
        return numbers[0] if numbers else None

    def step(self, state, i):
        jobs, gate, bell, kills, number, warm = state
        at, held, want, ticket, seen, passes, left, over = jobs[i]
        rung = bell[self.space[i]]

        def go(new, gate=gate, bell=bell, number=number, jobs=jobs, **change):
            job = Job(at, held, want, ticket, seen, passes, left, over)
            job.at = new
            for name, value in change.items():
                setattr(job, name, value)
            return self.put(jobs, i, job.key()), gate, bell, kills, number, warm

        if at == START:
            outer = jobs[self.outer[i]][0] if i in self.outer else RUN
            if outer == RUN:
                yield go(GATE, seen=0 if self.fault == "no-watch" else rung)
            elif outer == ENDED:
                yield go(ENDED)  # it is never started
        elif at == GATE:
            if self.fault == "no-gate":
                yield go(CHOOSE)
            elif gate[self.folders[i]] is None:
                own = self.folders[i]
                yield go(CHOOSE, gate=gate[:own] + (i,) + gate[own + 1 :])
        elif at == CHOOSE:
            wishes = self.earlier(jobs, warm, i, self.fault)
            allowed = self.may_choose(jobs, wishes, i)
            chosen, enough = ((), False) if allowed is None else choose(
                allowed[-1:] if self.fault == "no-promise" else allowed, self.load(jobs, i), self.fault != "moves")
            if not enough and allowed is not None:
                yields = self.yields(jobs, warm, i, allowed)
                filled, enough = backfill(allowed, self.load(jobs, i), yields, self.fault) if yields else ((), False)
                chosen = filled if enough else chosen
            if enough:
                self.check_limit(jobs, i, chosen)
                over = self.check_order(jobs, warm, i, chosen)
                yield go(TAKE, want=chosen, jobs=self.passed(jobs, warm, i, chosen), over=over,
                         left=MARGIN if i in self.ends else None)
            elif self.fault == "hold-and-wait":
                yield go(TICKET, held=tuple(sorted(set(held) | {(g, EXCLUSIVE) for g in chosen})))
            else:
                self.check_apart(jobs, i)
                self.check_blocked(jobs, warm, i)
                yield go(TICKET)
        elif at == TAKE:
            locked = dict(held)
            rest = [g for g in want if locked.get(g) is None or self.part[i] and locked[g] < 0]
            lock = self.lock(jobs, i, rest[0]) if rest else None
            if lock == BLOCKED:
                return
            if rest and lock is not None:
                yield go(TAKE, held=tuple(sorted({**locked, rest[0]: lock}.items())))
            elif rest:  # taken meanwhile, by a job without this gate
                yield go(TICKET, held=(), want=(), left=None, over=())
            else:
                yield go(RUN, gate=self.leave(gate, i), ticket=0, want=(), passes=0, left=self.ends.get(i),
                         bell=self.ring(i, bell, bool(ticket)))
        elif at == TICKET:
            yield go(LEAVE, ticket=ticket or number, number=number + (not ticket))
        elif at == LEAVE:
            yield go(WAIT, gate=self.leave(gate, i))
        elif at == WAIT:
            if self.fault == "no-watch":
                # It begins to watch only now, so what happened before is missed.
                if not seen:
                    yield go(WAIT, seen=rung + 1)
                elif rung >= seen:
                    yield go(GATE, seen=0)
            elif rung != seen:
                yield go(GATE, seen=rung)
        elif at == RUN and not self.inside(jobs, i):
            yield self.end(state, i, kills)

    def passed(self, jobs, warm, me, chosen):
        """The jobs, with a pass for each that cannot be served now and could use a chosen GPU."""
        before = self.before(jobs, me)
        wishes = self.may_choose(jobs, self.earlier(jobs, warm, me), me) or []
        for i, (_, enough) in zip(before, promised(wishes[:-1], self.load(jobs, me))):
            if not enough and set(chosen) & self.usable(jobs, i):
                passes = jobs[i][5] + 1
                if passes > LIMIT:
                    self.problems.append("starved: job %d is passed for the %d. time" % (i, passes))
                jobs = self.put(jobs, i, jobs[i][:5] + (passes,) + jobs[i][6:])
        return jobs

    def check_order(self, jobs, warm, i, chosen):
        """Returns the jobs to which a chosen GPU was promised, which cannot be served now, and when they can be."""
        before, load = self.before(jobs, i), self.load(jobs, i)
        waits = self.limited(jobs, i, before)
        earlier = [wish for wish, late in zip(self.earlier(jobs, warm, i), waits) if not late]
        before = [k for k, late in zip(before, waits) if not late]
        given = promised(earlier, load)
        over = {k: self.ready(jobs, warm, i, before[k]) for k, (gpus, enough) in enumerate(given)
                if i in self.ends and not enough and set(gpus) & set(chosen)}
        for g in chosen:
            if not load.room(g, self.slots[i]) and any(g in gpus and not over.get(k) for k, (gpus, _) in enumerate(given)):
                self.problems.append("order: job %d gets GPUs %s, promised before" % (i, chosen))
        if worse(earlier, self.load(jobs, i), chosen, self.slots[i], over):
            self.problems.append("order: job %d takes %s, so an earlier one gets less" % (i, chosen))
        for head in before[:1]:
            count, usable = self.wishes[head][0], self.usable(jobs, head)
            after = self.load(jobs, i)
            can = {g for g in self.free_for(jobs, warm, i, head) & usable}
            for g in chosen:
                after.add(g, self.slots[i])
            if len(can) >= count > sum(after.room(g, self.slots[head]) > 0 for g in can):
                self.problems.append("head: job %d could be served before job %d took %s" % (head, i, chosen))
        return tuple((before[k], due) for k, due in over.items())

    def check_limit(self, jobs, i, chosen):
        if not self.most:
            return
        user, before = self.users[i], self.before(jobs, i)
        has = sum(len(job[1]) for k, job in enumerate(jobs) if self.users[k] == user)
        if has + len(chosen) > self.most:
            self.problems.append("limit: the user of job %d gets %d GPUs" % (i, has + len(chosen)))
        for k in before:
            if self.users[k] == user and has + self.wishes[k][0] > self.most:
                self.problems.append("own: job %d passes job %d of its user" % (i, k))

    def check_blocked(self, jobs, warm, i):
        """Alone with the jobs whose users have not reached the limit, it would have to wait too."""
        before = self.before(jobs, i)
        waits = self.limited(jobs, i, before + [i])
        wishes = [wish for wish, late in zip(self.earlier(jobs, warm, i), waits) if not late]
        if any(waits) and not waits[-1] and choose(wishes, self.load(jobs, i), self.fault != "moves")[1]:
            self.problems.append("blocked: job %d waits for GPUs that no one can take" % i)

    def check_apart(self, jobs, i):
        alone = not any(jobs[k][1] or jobs[k][3] for k, outer in self.outer.items()
                        if k != i and outer == self.outer.get(i))
        if i in self.outer and alone and len(self.usable(jobs, i)) >= self.wishes[i][0]:
            self.problems.append("apart: job %d waits, alone in its lease" % i)

    def check(self, state, moves):
        jobs = state[0]
        for g, space in itertools.product(self.gpus, range(len(self.spaces) + 1)):
            users = [i for i, lock in self.locks(jobs, g, space) if lock >= 0 or lock == EXCLUSIVE and not self.part[i]]
            instances = {self.instance[i] for i in users}
            apart = None not in instances and len(instances) == len(users)
            if users and not apart and len(users) > min(self.slots[i] for i in users):
                self.problems.append("overlap: jobs %s" % users)
        for i, outer in self.outer.items():
            mine, its = ([g for g, _ in jobs[k][1]] for k in (i, outer))
            if set(mine) - set(its):
                self.problems.append("inside: job %d has %s, and its lease %s" % (i, mine, its))
        for i, job in enumerate(jobs):
            for waiting, due in job[7]:
                if job[1] and job[6] and not due and jobs[waiting][3]:
                    self.problems.append("late: job %d goes on, and job %d could be served" % (i, waiting))
            if job[0] == WAIT and job[1]:
                self.problems.append("partial: job %d waits and holds %s" % (i, job[1]))
        if not moves and any(job[0] != ENDED for job in jobs):
            self.problems.append("stuck: %s" % (jobs,))

    def canonical(self, state):
        """Bells and tickets count only relative to each other, so that states repeat."""
        jobs, gate, bell, kills, number, warm = state
        tickets = sorted(job[3] for job in jobs if job[3])
        small = tuple(
            job[:3] + (tickets.index(job[3]) + 1 if job[3] else 0, self.relative(job[4], bell[self.space[i]])) + job[5:]
            for i, job in enumerate(jobs)
        )
        return small, gate, (int(self.fault == "no-watch"),) * len(bell), kills, len(tickets) + 1, warm

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
    limit = lambda users, most: [dict(users=users, most=most)]
    # GPU 0 has one slot of 2 left, and GPU 1 both. The bell has just rung for two jobs that can be served.
    moved = [(1, any_of(1), 2), (1, any_of(2), 2), (1, any_of(1), 2), (1, frozenset([1]), 2)]
    waiting = [Job(RUN, ((0, 0),)), Job(WAIT, ticket=1, seen=-1), Job(WAIT, ticket=2, seen=-1)]
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
        ("with promises by one's own order", [(1, any_of(2)), (2, any_of(2)), (1, any_of(2))], 2, 0, "own-order", [],
         [], [0]),
        ("with passes without limit", [(1, any_of(1))] * 3, 1, 0, "no-limit", [0], [0]),
        ("a whole GPU among slots", [(1, any_of(1), 2), (1, any_of(1)), (1, any_of(1), 2)], 1, 3, ""),
        ("slots of GPUs", [(2, any_of(2), 2), (1, any_of(2), 3), (1, any_of(2))], 2, 2, ""),
        ("different slots", [(1, any_of(1), 2), (1, any_of(1), 3), (1, any_of(1), 2)], 1, 3, ""),
        ("a strict job with a slot", [(1, any_of(1), 2), (1, any_of(1), 2), (1, any_of(1))], 1, 1, "", [1], [0]),
        ("two folders", [(1, any_of(1), 2), (1, any_of(1), 2), (1, any_of(1), 2)], 1, 2, "", [], [], [], [0, 1, 1]),
        ("a whole GPU of another folder", [(1, any_of(1), 2), (1, any_of(1)), (1, any_of(1), 2)], 1, 2, "", [], [], [],
         [0, 1, 0]),
        ("with slots that do not count those of others", [(1, any_of(1), 2), (1, any_of(1), 3), (1, any_of(1), 3)], 1,
         0, "own-slots"),
        ("with different slots without the gate", [(1, any_of(1), 2), (1, any_of(1), 3), (1, any_of(1), 2)], 1, 0,
         "no-gate"),
        ("with two folders that share at once", [(1, any_of(1), 2), (1, any_of(1), 2), (1, any_of(1), 2)], 1, 0,
         "shared-at-once", [], [], [], [0, 1, 1]),
        ("with slots that pass without limit",
         [(1, any_of(1), 2), (1, any_of(1)), (1, any_of(1), 2), (1, any_of(1), 2)], 1, 0, "no-limit"),
        ("two folders without the guard", [(1, any_of(1), 2), (1, any_of(1), 2), (1, any_of(1), 2)], 1, 0, "no-guard",
         [], [], [], [0, 1, 1]),
        ("slots that could move a promise", moved, 2, 1, "", [], [], [], [], waiting),
        ("with slots that move a promise", moved, 2, 0, "moves", [], [], [], [], waiting),
        ("jobs inside a lease", [(2, any_of(2)), (1, any_of(2)), (2, any_of(2)), (1, any_of(2))], 2, 2, "", [], [], [],
         [], [], [(1, 0), (2, 0)]),
        ("jobs inside two leases", [(1, any_of(2)), (1, any_of(2)), (1, any_of(2)), (1, any_of(2))], 2, 2, "", [], [],
         [], [], [], [(1, 0), (3, 2)]),
        ("a lease whose files are closed", [(1, any_of(1)), (1, any_of(1)), (1, any_of(1))], 1, 1, "closed", [], [], [],
         [], [], [(1, 0)]),
        ("slots inside a lease", [(2, any_of(2)), (1, any_of(2), 2), (2, any_of(2), 3), (1, any_of(2), 2)], 2, 2, "",
         [], [], [], [], [], [(1, 0), (2, 0)]),
        ("jobs inside leases of slots", [(1, any_of(1), 2), (1, any_of(1)), (1, any_of(1), 2), (1, any_of(1))], 1, 2, "",
         [], [], [], [], [], [(1, 0), (3, 2)]),
        ("with one space for all leases of slots",
         [(1, any_of(1), 2), (1, any_of(1)), (1, any_of(1), 2), (1, any_of(1))], 1, 0, "one-space", [], [], [], [], [],
         [(1, 0), (3, 2)]),
        ("a lease inside a lease inside a lease", [(1, any_of(1)), (1, any_of(1)), (1, any_of(1))], 1, 2, "", [], [], [], [], [],
         [(1, 0), (2, 1)]),
        ("instances", [(1, any_of(1), 1, 0), (1, any_of(1), 1, 0), (1, any_of(1), 1, 1)], 1, 2, ""),
        ("an instance beside a whole GPU and a slot", [(1, any_of(1), 1, 0), (1, any_of(1)), (1, any_of(1), 2)], 1, 2,
         ""),
        ("instances beside a whole GPU of another folder",
         [(1, any_of(1), 1, 0), (1, any_of(1), 1, 1), (1, any_of(1))], 1, 2, "", [], [], [], [0, 0, 1]),
        ("instances of two folders", [(1, any_of(1), 1, 0), (1, any_of(1), 1, 0), (1, any_of(1), 1, 1)], 1, 2, "", [],
         [], [], [0, 1, 1]),
        ("with instances of two folders that share at once", [(1, any_of(1), 1, 0), (1, any_of(1), 1, 0)], 1, 0,
         "shared-at-once", [], [], [], [0, 1]),
        ("a user with a limit", [(1, any_of(2)), (1, any_of(2)), (1, any_of(2))], 2, 3, "", *limit([0, 0, 1], 1)),
        ("a user with a limit of two", [(1, any_of(3)), (2, any_of(3)), (1, any_of(3)), (1, any_of(3))], 3, 1, "",
         *limit([0, 0, 0, 1], 2)),
        ("two users with a limit", [(1, any_of(2)), (1, any_of(2)), (2, any_of(2)), (1, any_of(2))], 2, 1, "",
         *limit([0, 0, 1, 1], 2)),
        ("with a limit that is not counted", [(1, any_of(2)), (1, any_of(2))], 2, 0, "no-count", *limit([0, 0], 1)),
        ("with a limit without the gate", [(1, any_of(2)), (1, any_of(2))], 2, 0, "no-gate", *limit([0, 0], 1)),
        ("with GPUs that are kept for users at their limit", [(1, any_of(2)), (1, any_of(2)), (1, any_of(2))], 2, 0, "kept",
         *limit([0, 0, 1], 1)),
        ("with a job that passes others of its user", [(1, any_of(3)), (2, any_of(3)), (1, any_of(3))], 3, 0, "own-passes",
         *limit([0, 0, 0], 2)),
    ]
    # Time matters: jobs with an end hold GPUs, others wait for these, and one that comes later has an end too.
    one, two = frozenset([0]), any_of(2)
    holds = lambda g, left: Job(RUN, ((g, EXCLUSIVE),), left=left)
    waits = lambda number: Job(WAIT, ticket=number, seen=-1)
    late = dict(begin=[holds(1, 3), waits(1)], ends=[(0, 3), (2, 2), (3, 1)])
    alone = [(1, frozenset([1])), (2, two), (1, two), (1, two)]
    unknown = dict(begin=[holds(1, None), waits(1)], ends=[(2, 1)])
    second = [(1, one), (1, frozenset([1])), (1, one), (2, frozenset([1, 2])), (1, frozenset([2]))]
    both = dict(begin=[holds(0, 3), holds(1, 2), waits(1), waits(2)], ends=[(0, 3), (1, 2), (4, 2)])
    between = [(1, frozenset([2])), (2, frozenset([0, 2])), (1, two), (1, two)]
    served = dict(begin=[holds(2, 3), waits(1), waits(2)], ends=[(0, 3), (3, 2)])
    cases += [
        ("jobs that end before a promise", alone, 2, 0, "", late),
        ("a promise without a time", alone[:3], 2, 1, "", unknown),
        ("a time for the second in the queue", second, 3, 0, "", both),
        ("a promise between others", between, 3, 0, "", served),
        ("a job that ends before slots do", [(1, frozenset([1]), 2), (1, frozenset([1]), 2), (2, two), (1, two)], 2, 1,
         "", dict(begin=[Job(RUN, ((1, 0),), left=1), Job(RUN, ((1, 1),), left=3), waits(1)],
                  ends=[(0, 1), (1, 3), (3, 2)])),
        ("an instance that ends before a promise", [wish + (1, 0) for wish in alone[:3]], 2, 1, "",
         dict(begin=[Job(RUN, ((1, 0),), left=3), waits(1)], ends=[(0, 3), (2, 2)])),
        ("a promise inside a lease", [(2, two)] + alone[:3], 2, 1, "",
         dict(begin=[Job(RUN, ((0, EXCLUSIVE), (1, EXCLUSIVE))), holds(1, 3), waits(1)], ends=[(1, 3), (3, 2)],
              outer=[(1, 0), (2, 0), (3, 0)])),
        ("with an end at the time of a promise", alone, 2, 0, "no-margin",
         dict(begin=[holds(1, 3), waits(1)], ends=[(0, 3), (2, 3)])),
        ("with an end that another user wrote", alone[:3], 2, 0, "believe", dict(unknown, forged=[(0, 3)])),
        ("with a lease without an end that counts as long", alone[:3], 2, 0, "unknown-is-late", unknown),
        ("without the promise of the second in the queue", second, 3, 0, "head-only", both),
        ("with ends that pass without limit", alone, 2, 0, "firm-yields", late),
        ("with promises as if the first did not wait", between, 3, 0, "skips", served),
    ]
    print("1..%d" % len(cases))
    failed = 0
    for number, (name, wishes, gpus, kills, fault, *terms) in enumerate(cases, 1):
        named = terms.pop() if terms and isinstance(terms[-1], dict) else {}
        model = Model(wishes, gpus, kills, fault, *terms, **named)
        states = model.explore()
        good = bool(model.problems) == bool(fault)
        failed += not good
        print("%sok %d - %s: %d states%s" % ("" if good else "not ", number, name, states,
                                             ", " + model.problems[0] if model.problems else ""))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
