# SPDX-License-Identifier: MIT
"""compare-state.py RELATIVE A B: the state_dicts of two files agree.

A difference is of the standard deviation of A's tensor, or of its greatest value where all are equal. What has no part
in training a first time, running statistics and counters, is compared where both files are checkpoints.
"""
import sys

import torch

import read_safetensors


def state_of(path):
    """({name: tensor in double}, whether it is a checkpoint)"""
    tensors, texts = read_safetensors.read(path)
    types = {"F32": torch.float32, "I64": torch.int64}
    return {name.removeprefix("module."): torch.frombuffer(bytearray(data), dtype=types[dtype]).double()
            for name, (dtype, _, data) in tensors.items() if not name.startswith("optimizer.")}, "checkpoint" in texts


def main():
    most, (a, whole), (b, _) = float(sys.argv[1]), state_of(sys.argv[2]), state_of(sys.argv[3])
    if a.keys() != b.keys():
        sys.exit(f"tensors {sorted(a.keys() ^ b.keys())} are in one file alone")
    worst, count = 0.0, 0
    for name in a:
        if not whole and ("running_" in name or "num_batches" in name):
            continue
        spread = a[name].std().item() if a[name].numel() > 1 else 0.0
        found = (a[name] - b[name]).abs().max().item() / (spread or max(a[name].abs().max().item(), 1e-30))
        worst, count = max(worst, found), count + 1
        if not found <= most:
            sys.exit(f"{name} differs by {found:.3g}, allowed {most:g}")
    print(f"{count} tensors agree, worst {worst:.3g}")


main()
