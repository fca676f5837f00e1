#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""race.py GPUMAP HOLDER COUNT GPUS [MOST [INSTANCES]]: picks of random size and options race for pretended GPUs, MOST
at a time; a third wants slots, a tenth is killed. If there are MIG instances, half of the picks want these.

Run it under gpumap pretend, in a folder with a folder "held". Each job locks what it holds in a way of its own, and
writes down when it began and ended (holder.c); this program writes down when it asked, and when it was killed. Several
may run at once, in one folder. Prints "KEY VALUE" lines. records.py and witness.py check the rest.
"""

import os
import random
import signal
import subprocess
import sys
import time

gpumap, holder, count, gpus = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
most = int(sys.argv[5]) if len(sys.argv) > 5 else 24
instances = int(sys.argv[6]) if len(sys.argv) > 6 else 0
seed = int(os.environ.get("GPUMAP_TEST_SEED") or random.randrange(1 << 31))
draw = random.Random(seed)
print("seed", seed)
# In each pid namespace the numbers begin again.
name = "%x" % random.SystemRandom().randrange(1 << 48)
records = os.open("held/records", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)


def record(what, job):
    os.write(records, b"%s %s %d\n" % (what.encode(), job.encode(), time.monotonic_ns()))


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def family(pid):
    found, left = [], [pid]
    while left:
        found.append(left.pop())
        left += children(found[-1])
    return found


def start(number):
    """A job; whether it has slots. A tenth is to be killed, the first of them at once, and an eighth leaves its GPUs to a child."""
    options = draw.choice(([], [], ["--near"], ["--prefer", str(draw.randrange(gpus))], ["--max-load", "50"],
                           ["--near", "--prefer", "0,%d" % (gpus - 1)], ["--max-used", "2G"], ["--from"]))
    most_gpus = gpus // 2
    if options == ["--from"]:
        some = draw.sample(range(gpus), draw.randint(1, most_gpus))
        options, most_gpus = ["--from", ",".join(map(str, some))], len(some)
    slots = draw.choice((1, 1, 1, 1, 2, 3))
    if instances and draw.randrange(2):
        options, most_gpus, slots = draw.choice((["--mig"], ["--mig", "--max-used", "2G"])), instances // 2, 1
    if slots > 1:
        options = options + ["--slots", str(slots)]
    words = [gpumap, "pick", str(draw.randint(1, most_gpus)), "--wait", *options, "--", holder, "held",
             str(draw.randint(0, 20)), str(slots)]
    if draw.randrange(8) == 0:
        words.append("child")
    job = "%s.%d" % (name, number)
    record("asked", job)
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               env=dict(os.environ, RACE_JOB=job))
    process.job, process.was_killed = job, False
    jobs[process] = number % 10 == 3
    return slots > 1


def kill_one(process):
    """pick, its guard, the program, or a job that still waits"""
    record("killed", process.job)
    try:
        os.kill(draw.choice(family(process.pid)), signal.SIGKILL)
    except ProcessLookupError:
        pass
    jobs[process], process.was_killed = False, True


jobs, started, bad, killed, waited, shared = {}, 0, [], 0, 0, 0
while started < count or jobs:
    while started < count and len(jobs) < most:
        shared += start(started)
        started += 1
    for process, to_kill in list(jobs.items()):
        if to_kill and (not killed or draw.randrange(4) == 0):
            kill_one(process)
            killed += 1
        if process.poll() is None:
            continue
        text = process.stderr.read().decode(errors="replace")
        waited += "waiting" in text
        if process.returncode and not process.was_killed:
            bad.append("status %d: %s" % (process.returncode, text.strip()[-200:]))
        del jobs[process]
    time.sleep(0.001)
print("jobs", started)
print("killed", killed)
print("waited", waited)
print("slots", shared)
print("bad", len(bad), *bad[:3])
