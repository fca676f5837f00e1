#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""records.py FOLDER: what the jobs of race.py wrote down, and what that shows.

  overlaps  more jobs held a GPU at one time than one of them allows, by the locks of holder.c or by the times
  starved   a job asked, was not killed, and never began
"""

import os
import sys

jobs = {}
with open(os.path.join(sys.argv[1], "records")) as file:
    for line in file:
        what, job, moment, *held = line.split()
        times = jobs.setdefault(job, {})
        times.setdefault(what, int(moment))
        if held:
            times["gpus"], times["slots"] = held[0].split(","), int(held[1])

holds = {}
for job, times in jobs.items():
    for gpu in times.get("gpus", ()):
        # A program that was killed held them at least until then.
        end = times.get("ended", max(times["began"], times.get("killed", 0)))
        holds.setdefault(gpu, []).append((times["began"], end, times["slots"], job))
overlaps = []
for gpu, list_of in holds.items():
    together = []
    for hold in sorted(list_of):
        together = [other for other in together if other[1] > hold[0]] + [hold]
        if len(together) > min(slots for _, _, slots, _ in together):
            overlaps.append("%s on GPU %s" % (" and ".join(job for *_, job in together), gpu))
overlaps += [name for name in os.listdir(sys.argv[1]) if name.startswith("overlap")]
starved = [job for job, times in jobs.items() if "began" not in times and "killed" not in times]
waits = sorted(times["began"] - times["asked"] for times in jobs.values() if "began" in times and "asked" in times)
print("served", len(waits))
print("longest %d ms" % (waits[-1] / 1e6 if waits else 0))
print("overlaps", len(overlaps), *overlaps[:3])
print("starved", len(starved), *starved[:3])
