#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: PYTHONPATH=python/package python.py [RUNS]
What `import gpumap` costs, beside a python3 that imports nothing, and an answer for 8 GPUs of which all devices are
read. CPU times of processes, and times of calls; medians, and the least of it."""
import os
import statistics
import subprocess
import sys
import timeit

import gpumap

RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
MACHINE = gpumap.Inventory("8xH100")


def cpu_of(code):
    """Milliseconds of user and system time of a process."""
    process = subprocess.Popen([sys.executable, "-c", code])
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return (usage.ru_utime + usage.ru_stime) * 1e3


def imported():
    """Microseconds of the statement itself, by its process."""
    code = ("import time; t = time.perf_counter_ns(); import gpumap; "
            "print((time.perf_counter_ns() - t) / 1e3)")
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)


def answer():
    gpumap.resolve(visible="7,6,5,4,3,2,1,0", device=4, inventory=MACHINE)


def answer_and_read():
    mapping = gpumap.resolve(visible="7,6,5,4,3,2,1,0", device=4, inventory=MACHINE)
    for device in mapping.visible:
        device.logical, device.physical, device.uuid


def show(what, figures, unit):
    print(f"{what:<42} {statistics.median(figures):8.2f} {unit}, at least {min(figures):.2f}")


def calls(call):
    number = 2000
    return [t / number * 1e6 for t in timeit.repeat(call, number=number, repeat=15)]


bare = [cpu_of("pass") for _ in range(RUNS)]
with_module = [cpu_of("import gpumap") for _ in range(RUNS)]
show("python3 -c pass, CPU time", bare, "ms")
show("python3 -c 'import gpumap', CPU time", with_module, "ms")
print(f"{'so the import takes':<42} {statistics.median(with_module) - statistics.median(bare):8.2f} ms")
show("import gpumap, elapsed", [imported() for _ in range(RUNS)], "us")
show("resolve", calls(answer), "us")
show("resolve, and read 8 devices", calls(answer_and_read), "us")
show("str() of it", calls(lambda m=gpumap.resolve(visible="1,0", inventory=MACHINE): str(m)), "us")
show("here(), inventory given", calls(lambda: gpumap.here(inventory=MACHINE)), "us")
