#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wake.py GPUMAP HOLDER ROUNDS: how long gpumap pick takes, and how soon a job that waits begins after the GPU is free.

Run it under gpumap pretend, in a folder with "held/records". A job holds a GPU until its input is closed. That is the
moment of the release. A program that waits for the GPU writes down when it begins (tests/lease/holder.c).
"""

import os
import subprocess
import sys
import time

gpumap, holder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
quiet = dict(stdout=subprocess.DEVNULL)


def show(name, times):
    times.sort()
    print("%-28s median %.1f ms, 99 %% %.1f ms" % (name, times[len(times) // 2] / 1e6, times[len(times) * 99 // 100] / 1e6))


def alone():
    begin = time.monotonic_ns()
    subprocess.run([gpumap, "pick", "1", "--", "true"], check=True, stdin=subprocess.DEVNULL, **quiet)
    return time.monotonic_ns() - begin


def began(job):
    with open("held/records") as file:
        return [int(line.split()[2]) for line in file if line.startswith("began %s " % job)]


def wait_for(job, name):
    """A job that waits, and has said so."""
    process = subprocess.Popen([gpumap, "pick", "1", "--from", "0", "--wait", "--", holder, "held", "0", "1"],
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=dict(os.environ, RACE_JOB=job), **quiet)
    while "waiting" not in process.stderr.readline().decode():
        assert process.poll() is None, name
    return process


def woken(number, others):
    """From the release to the first line of the program that waited first, with others behind it."""
    first = subprocess.Popen([gpumap, "pick", "1", "--from", "0", "--wait", "--", "sh", "-c", "echo; cat"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    first.stdout.readline()
    waiting = [wait_for("wake.%d.%d" % (number, i), "a job that waits has ended") for i in range(1 + others)]
    time.sleep(0.05)
    begin = time.monotonic_ns()
    first.stdin.close()
    for process in waiting:
        process.communicate()
    first.wait()
    return began("wake.%d.0" % number)[0] - begin


show("gpumap pick 1 -- true", [alone() for _ in range(rounds)])
show("release to begin, 1 waits", [woken(n, 0) for n in range(rounds)])
show("release to begin, 8 wait", [woken(rounds + n, 7) for n in range(rounds // 4)])
