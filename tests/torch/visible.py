#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares `gpumap --dialect torch` with PyTorch's own reading of visible lists.

usage: GPUMAP=PATH/gpumap gpumap pretend --inventory MACHINE -- visible.py MACHINE [--values N] [--seed S]
                                                                          [--record FILE]

PyTorch counts devices through NVML, which `gpumap pretend` serves, so that neither a
GPU nor a driver is needed; the PyTorch must be a CUDA build. Each value is compared
twice: torch.cuda.device_count() with the number of visible devices, and PyTorch's
parser with the devices themselves. Prints TAP; exit 0 when all agree.
"""
import argparse, concurrent.futures, json, os, random, subprocess, sys

JUNK = ["", " ", "\t", "a", "x1", "0x1", "gpu0", "cuda:0", "all", "none", "[0", "1]", "'0'", "1.5", "1;2", "1 2",
        "--1", "+-1", "GPU", "gpu-", "0-2", "01", "00", "007", "4294967296", "99999999999999999999"]
# Python's own ideas of digits and blanks, after the random values.
PYTHON = ["+", "-", "1,+", "9,+", "1,1,+", "1,-1,+", "\u0663", "+\uff12", "1\u0662,0", "\u0663,3", "\u00a01", "2\u3000",
          "\x1c3", "\u00b2", "1\u00b2", "a\u00b2", "1\u00b2,1", "\u00bd", "1" * 4300, "1" * 4301, "0" * 4301]


def machine_uuids(gpumap, machine):
    out = subprocess.run([gpumap, "inventory", "--inventory", machine, "--json"], capture_output=True, text=True)
    return [g["uuid"] for g in json.loads(out.stdout)["gpus"]]


def number(rng, count):
    sign = rng.choice(["", "", "", "", "+", "-", " ", "  "])
    tail = rng.choice(["", "", "", "", " ", "gpu", "a", ".0", ":1", "-1"])
    return sign + str(rng.randrange(count + 3)) + tail


def uuid(rng, uuids):
    text = rng.choice(uuids)
    text = text[:rng.randrange(4, len(text) + 1)]
    change = rng.randrange(12)
    if change == 0:
        text += rng.choice("0x-g ")
    elif change == 1:
        text = text.upper()
    elif change == 2:
        text = " " + text
    return text


def value(rng, uuids):
    kind, entries = rng.randrange(10), []
    for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4, 5, 8])):
        roll = rng.randrange(20)
        if roll == 0:
            entries.append(rng.choice(JUNK))
        elif roll == 1:
            entries.append(uuid(rng, uuids))
        elif roll == 2:
            entries.append(number(rng, len(uuids)))
        else:
            entries.append(uuid(rng, uuids) if kind < 4 else number(rng, len(uuids)))
    return ",".join(entries)


def torch_answer(cuda, text, uuids):
    """(count, devices); devices are "raises" where PyTorch does, None where it asks the runtime."""
    os.environ["CUDA_VISIBLE_DEVICES"] = text
    try:
        devices = cuda._parse_visible_devices()
    except ValueError:
        return "-", "raises"
    if devices and isinstance(devices[0], str):
        if devices[0].startswith("MIG-"):
            return "runtime", None
        devices = cuda._transform_uuid_to_ordinals(devices, uuids)
    else:
        devices = next((devices[:i] for i, d in enumerate(devices) if d >= len(uuids)), devices)
    return cuda.device_count(), devices


def gpumap_answer(gpumap, machine, text):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA", "GPUMAP_"))}
    out = subprocess.run([gpumap, "--inventory", machine, "--dialect", "torch", "--visible=" + text, "--json"],
                         capture_output=True, text=True, env=clean)
    answer = json.loads(out.stdout)
    if any(f["id"] == "GM270" for f in answer["findings"]):
        return "raises"
    return [d["physical"] for d in answer["visible"]]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("machine")
    args.add_argument("--values", type=int, default=10000)
    args.add_argument("--seed", type=int, default=20260101)
    args.add_argument("--record")
    args = args.parse_args()
    gpumap = os.environ["GPUMAP"]
    try:
        import torch
    except ImportError:
        print("1..0 # SKIP no PyTorch")
        return 0
    if not torch.version.cuda:
        print("1..0 # SKIP this PyTorch is built without CUDA: its count is always 0")
        return 0
    uuids = machine_uuids(gpumap, args.machine)
    if torch.cuda._raw_device_uuid_nvml() != uuids:
        print("1..1\nnot ok 1 - PyTorch sees the pretended machine's UUIDs")
        return 1
    rng = random.Random(args.seed)
    values = [value(rng, uuids) for _ in range(args.values)] + PYTHON
    theirs = [torch_answer(torch.cuda, v, uuids) for v in values]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        ours = list(pool.map(lambda v: gpumap_answer(gpumap, args.machine, v), values))
    rows, differ, undefined = [], 0, 0
    for v, (count, devices), mine in zip(values, theirs, ours):
        if devices is None:
            undefined += 1
            same = True
        else:
            same = devices == mine and (devices == "raises" or count == len(mine))
        differ += not same
        rows.append((v.encode("unicode_escape").decode(), count, devices, mine, "yes" if same else "NO"))
        if not same:
            print(f"# {v!r}: PyTorch {count} {devices}, gpumap {mine}")
    print("1..1")
    print(f"{'not ' if differ else ''}ok 1 - {len(values)} lists, PyTorch {torch.__version__}: {differ} differ,"
          f" {undefined} on which PyTorch asks the runtime")
    if args.record:
        with open(args.record, "w", encoding="ascii") as f:
            f.write(f"# PyTorch {torch.__version__}, {len(uuids)} GPUs, seed {args.seed}: {len(values)} lists,"
                    f" {differ} differ, {undefined} on which PyTorch asks the runtime\n"
                    "# every tenth list: value, PyTorch's count and devices, gpumap's devices, agreement\n")
            for row in rows[::10]:
                f.write("\t".join(str(c) for c in row) + "\n")
    return differ != 0


if __name__ == "__main__":
    sys.exit(main())
