#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""witness.py FOLDER: looks at the leases of race.py again and again, in the gate, until standard input is closed.

In the gate no job takes a GPU. So what holds in one look and the next does not depend on how fast anything is:

  lost     the first in the queue could be served, still waits, and can be served no more: another job took its GPUs
  starved  a job was passed more than 8 times
"""

import fcntl
import os
import re
import select
import sys

folder = sys.argv[1]


PF_EXITING = 4


def is_locked(name, lock=fcntl.LOCK_SH):
    """Whether the file cannot be locked, because a job has locked it. A file that is not there can be."""
    try:
        fd = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, lock | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)


def is_ending(name):
    """Whether the job that has locked the ticket was killed meanwhile: the kernel closes its files one by one, so that
    the gate can be open while it still has its ticket and what it just took."""
    inode = ":%d" % os.stat(os.path.join(folder, name)).st_ino
    with open("/proc/locks") as file:
        pids = [line.split()[4] for line in file if line.split()[1] == "FLOCK" and line.split()[5].endswith(inode)]
    try:
        with open("/proc/%s/stat" % pids[0]) as file:
            return bool(int(file.read().rpartition(")")[2].split()[6]) & PF_EXITING)
    except (IndexError, OSError):
        return True


def tickets():
    """Of the jobs that wait: number, count, GPUs, slots, and how often it was passed."""
    for name in sorted(os.listdir(folder)):
        if not name.startswith("ticket-") or not is_locked(name):
            continue
        with open(os.path.join(folder, name)) as file:
            lines = [line.split() for line in file.read().splitlines()]
        words = {line[0]: line[1:] for line in lines if line}
        slots = int(words.get("slots", ["1"])[0])
        yield name, int(words["want"][0]), words["from"], slots, sum(line == ["passed"] for line in lines)


def has_room(gpu, slots):
    """Whether a job can have the GPU, or one of so many slots of it. Slots have the GPU's file locked shared."""
    if slots == 1:
        return not is_locked(gpu, fcntl.LOCK_EX)
    if is_locked(gpu):
        return False
    names = [re.fullmatch(re.escape(gpu) + "-slot-[0-9]+-of-([0-9]+)", name) for name in os.listdir(folder)]
    held = [int(name[1]) for name in names if name and is_locked(name[0])]
    return len(held) < min(held + [slots])


def look():
    """The first ticket, whether its job could be served, and the most passes of a job."""
    gate = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(gate, fcntl.LOCK_EX)
    try:
        queue = list(tickets())
        if not queue:
            return None, False, 0
        name, want, usable, slots, _ = queue[0]
        free = sum(has_room(gpu, slots) for gpu in usable)
        if free < want and is_ending(name):
            return None, False, 0
        return name, free >= want, max(passes for *_, passes in queue)
    finally:
        os.close(gate)


looks, queued, could, lost, most = 0, 0, 0, 0, 0
before, could_before = None, False
while not select.select([sys.stdin], [], [], 0.005)[0]:
    try:
        first, can, passes = look()
    except FileNotFoundError:
        continue  # no job has begun
    if not looks:
        print("begun", flush=True)
    if first is not None and first == before and could_before and not can:
        lost += 1
        print("not served", first, flush=True)
    before, could_before = first, can
    looks, queued, could, most = looks + 1, queued + (first is not None), could + can, max(most, passes)
print("looks", looks)
print("queued", queued)
print("could", could)
print("lost", lost)
print("passes", most)
