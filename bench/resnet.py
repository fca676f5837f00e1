#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""resnet.py GPUMAP-TRAIN [--python PYTHON] [--rounds N] [--threads N]

ResNet-50 at 224 x 224, batch 8, and ResNet-18 at 32 x 32, batch 128, with SGD and momentum on the CPU:
gpumap-train and PyTorch in turn, each in a process of its own. A step is the least of those after the
first one, of all rounds; PyTorch as it is, and with channels_last. Memory is the greatest of the process.
The first step is the least time from the start of the process to its end, of gpumap-train in a run of one
step, to the end of the process.
In a build folder start it by `libtool --mode=execute`: gpumap-train is a script there.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = (("resnet50", 224, 8), ("resnet18", 32, 128))
STEPS = 6


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("trainer")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", default="2")
    return parser.parse_args()


def pytorch(name, size, batch, threads, channels_last):
    """Run by PYTHON: prints its version, the seconds of each step, and when the first one had ended, as JSON."""
    import torch
    sys.path.insert(0, os.path.join(HERE, "../tests/trainer/cli"))
    import resnet
    torch.set_num_threads(threads)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    model = resnet.resnet(name, size).to(memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, 0.9)
    images = torch.randn(batch, 3, size, size).to(memory_format=layout)
    labels = torch.randint(0, 10, (batch,))
    times, first = [], 0.0
    for _ in range(STEPS):
        begin = time.monotonic()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        first = first or time.monotonic()
        times.append(time.monotonic() - begin)
    print(json.dumps([torch.__version__, times, first]))


def measured(command):
    """What a command prints, its greatest memory in MiB, and when it was started."""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{command[0]}: status {status}")
    return text, usage.ru_maxrss // 1024, begin


def ours(trainer, name, size, batch, threads):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "steps")
        command = [trainer, "--model", name, "--image-size", str(size), "--samples", str(STEPS * batch),
                   "--test-samples", "1", "--global-batch", str(batch), "--threads", threads, "--optimizer", "sgd",
                   "--momentum", "0.9", "--evaluate-every", "0", "--progress", "none"]
        begin = measured(command + ["--steps", "1"])[2]
        first = time.monotonic() - begin
        memory = measured(command + ["--steps", str(STEPS), "--metrics", file])[1]
        with open(file) as lines:
            return [json.loads(line)["seconds"] for line in lines], first, memory


def theirs(python, name, size, batch, threads, layout):
    text, memory, begin = measured([python, os.path.abspath(__file__), "pytorch", name, str(size), str(batch), threads,
                                    layout])
    version, times, first = json.loads(text)
    return version, times, first - begin, memory


def compare(o, name, size, batch):
    least, begun, memory, version = {}, {}, {}, ""
    for _ in range(o.rounds):
        rows = [("gpumap-train", *ours(o.trainer, name, size, batch, o.threads))]
        for layout in ("as it is", "channels_last"):
            version, *row = theirs(o.python, name, size, batch, o.threads, layout)
            rows.append((layout, *row))
        for who, times, first, used in rows:
            least[who] = min(least.get(who, 1e9), min(times[1:]))
            begun[who] = min(begun.get(who, 1e9), first)
            memory[who] = max(memory.get(who, 0), used)
    best = min(least["as it is"], least["channels_last"])
    print(f"{name}, batch {batch}, {o.threads} threads: gpumap-train {least['gpumap-train']:.3f} s, PyTorch {version} "
          f"{least['as it is']:.3f} s, channels_last {least['channels_last']:.3f} s: "
          f"{best / least['gpumap-train']:.2f} times its best; first step after s "
          + ", ".join(f"{s:.2f}" for s in begun.values()) + "; MiB " + ", ".join(str(m) for m in memory.values()),
          flush=True)


if sys.argv[1:2] == ["pytorch"]:
    pytorch(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]), sys.argv[6] == "channels_last")
else:
    arguments = options()
    for case in CASES:
        compare(arguments, *case)
