#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""race.py GPUMAP HOLDER COUNT GPUS: picks of random size and options race for pretended GPUs; a tenth
is killed.

Run it under gpumap pretend. Each job locks what it holds in a way of its own (holder.c). Prints "KEY VALUE" lines.
"""

import os
import random
import signal
import subprocess
import sys
import time

gpumap, holder, count, gpus = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
seed = int(os.environ.get("GPUMAP_TEST_SEED") or random.randrange(1 << 31))
draw = random.Random(seed)
print("seed", seed)
os.makedirs("held", exist_ok=True)
MOST = 24  # jobs at a time


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


jobs, started, bad, killed, waited = {}, 0, [], 0, 0
while started < count or jobs:
    while started < count and len(jobs) < MOST:
        options = draw.choice(([], [], ["--near"], ["--prefer", str(draw.randrange(gpus))], ["--max-load", "50"],
                               ["--near", "--prefer", "0,%d" % (gpus - 1)], ["--free-memory", "2G"]))
        words = [gpumap, "pick", str(draw.randint(1, gpus // 2)), "--wait", *options, "--", holder, "held",
                 str(draw.randint(0, 20))]
        if draw.randrange(8) == 0:
            words.append("child")
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        jobs[process] = draw.randrange(10) == 0
        started += 1
    for process, to_kill in list(jobs.items()):
        if to_kill and draw.randrange(4) == 0:
            # pick, its guard, the program, or a job that still waits
            victim = draw.choice(family(process.pid))
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
            jobs[process] = False
            process.was_killed = True
            killed += 1
        if process.poll() is None:
            continue
        text = process.stderr.read().decode(errors="replace")
        waited += "waiting" in text
        if process.returncode and not getattr(process, "was_killed", False):
            bad.append("status %d: %s" % (process.returncode, text.strip()[-200:]))
        del jobs[process]
    time.sleep(0.001)
print("jobs", started)
print("killed", killed)
print("waited", waited)
print("bad", len(bad), *bad[:3])
print("overlaps", sum(name.startswith("overlap") for name in os.listdir("held")))
# What killed jobs started may live a moment longer; then all can be had at once.
end = subprocess.run([gpumap, "pick", str(gpus), "--wait=60s", "--", "true"], stderr=subprocess.DEVNULL)
print("all", end.returncode)
