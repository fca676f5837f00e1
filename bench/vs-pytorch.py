# SPDX-License-Identifier: MIT
"""vs-pytorch.py GPUMAP-TRAIN [--python PYTHON] [--rounds N] [--batches 32,256] [--threads 1,2]
                 [--precisions fp32,bf16] [--best best|compiled] [--cpu]

convnet with Adam on the CPU: gpumap-train and PyTorch alternating, each in a process of its own. Of each
the median of the steps after the first ones of all rounds, the greatest memory, and the least time of
a run of one step: without that step, which is from Enter to the first step, and without one of the
later steps, so that what the first one does for all is counted too. PyTorch as it is, and at its best
settings: channels_last, fused Adam where there is one, memory that is kept (MALLOC_*), and whatever BLAS
is installed (libopenblas0-openmp is the fast one); with --best compiled by torch.compile too.
With --cpu a step is its user CPU time, which other programs disturb less: the median over the rounds of
what the steps after the first one take. It is the duration of a step only with one thread. The last three
columns are then the least CPU time, user and system, of a whole run of one step.
In a build folder start it by `libtool --mode=execute`: gpumap-train is a script there.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

KEEP = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "8589934592",
        "MALLOC_TOP_PAD_": "268435456"}
HERE = os.path.dirname(os.path.abspath(__file__))
WARM = 3  # steps that are not counted


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("trainer")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--rounds", type=int, default=3)
    for name, values in (("batches", "32,256"), ("threads", "1,2"), ("precisions", "fp32,bf16")):
        parser.add_argument("--" + name, default=values)
    parser.add_argument("--best", choices=("best", "compiled"), default="best")
    parser.add_argument("--cpu", action="store_true")
    return parser.parse_args()


def start(command, environment, output):
    """Runs it; seconds, user and system CPU time, and bytes of memory at most."""
    begin = time.perf_counter()
    with open(output, "w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.PIPE,
                                   env={**os.environ, **environment})
        complaint = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: status {status}: {complaint.strip()}")
    return time.perf_counter() - begin, usage.ru_utime, usage.ru_stime, usage.ru_maxrss * 1024


def step_times(path):
    with open(path) as file:
        lines = [json.loads(line) for line in file if line.startswith("{")]
    return [line["seconds"] for line in lines if line["type"] == "step"]


class Side:
    """One of those that are compared."""

    def __init__(self, name):
        self.name, self.steps, self.memory = name, [], 0
        self.before_first, self.whole, self.longer = [], [], None

    def run(self, o, case, steps, folder):
        output, metrics = folder + "/out", folder + "/metrics"
        batch, threads, precision = case
        environment = {"OMP_NUM_THREADS": str(threads)}
        if self.name == "gpumap":
            command = [o.trainer, "--global-batch", str(batch), "--threads", str(threads),
                       "--precision", precision, "--steps", str(steps), "--evaluate-every", "0",
                       "--samples", str(4 * batch), "--test-samples", "1", "--metrics", metrics,
                       "--progress", "none"]
        else:
            command = [o.python, HERE + "/peer.py", str(batch), str(threads), precision, str(steps),
                       self.name]
            environment.update({} if self.name == "plain" else KEEP)
        seconds, user, system, memory = start(command, environment, output)
        times = step_times(metrics if self.name == "gpumap" else output)
        if steps == 1:
            self.before_first.append(seconds - times[0])
            self.whole.append(user + system if o.cpu else seconds)
            if o.cpu:
                self.steps.append((self.longer[0] - user) / (self.longer[1] - 1))
            return
        self.longer = user, steps
        self.memory = max(self.memory, memory)
        if o.cpu:
            return
        self.steps += times[WARM:]

    def step(self):
        return statistics.median(self.steps)

    def first(self):
        return min(self.before_first)

    def once(self, cpu):
        return min(self.whole) - (0 if cpu else self.step())


def compare(o, case, folder):
    sides = [Side("gpumap"), Side("plain"), Side(o.best)]
    steps = WARM + (12 if case[0] <= 64 else 5)
    for _ in range(o.rounds):
        for side in sides:
            side.run(o, case, steps, folder)
            side.run(o, case, 1, folder)
    ours, plain, best = sides
    print("%5d %7d %5s %10.1f %10.1f %10.1f %8.2f %8.2f %8.0f %8.0f %8.2f %8.0f %8.0f %8.1f %8.0f %8.0f %8.1f" % (
        *case, 1e3 * ours.step(), 1e3 * plain.step(), 1e3 * best.step(),
        plain.step() / ours.step(), best.step() / ours.step(),
        ours.memory / 2**20, best.memory / 2**20, ours.memory / best.memory,
        1e3 * ours.first(), 1e3 * best.first(), best.first() / ours.first(),
        1e3 * ours.once(o.cpu), 1e3 * best.once(o.cpu), best.once(o.cpu) / ours.once(o.cpu)), flush=True)


def main():
    o = options()
    print("                   step, ms                          times          memory, MiB"
          "                to the 1st step, ms    ",
          "CPU of a run of a step" if o.cpu else "and what it does for all")
    print("batch threads        gpumap    PyTorch       best    plain     best   gpumap     best"
          "    ratio   gpumap  PyTorch    times   gpumap  PyTorch    times", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for batch in o.batches.split(","):
            for threads in o.threads.split(","):
                for precision in o.precisions.split(","):
                    compare(o, (int(batch), int(threads), precision), folder)


main()
