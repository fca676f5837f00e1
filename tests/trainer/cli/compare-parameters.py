# SPDX-License-Identifier: MIT
"""compare-parameters.py RELATIVE A B...: the tensors of B and all that follow are those of A.

DataParallel's module. before a name is left aside. RELATIVE is the greatest difference allowed, of the greatest value of A's tensor (0: not one bit).
"""
import sys

import read_safetensors


def worst_of(a, b):
    """The greatest difference of two files of tensors, and the tensor that has it."""
    worst, where = 0.0, next(iter(a))
    if a.keys() != b.keys():
        sys.exit(f"tensors {sorted(a.keys() ^ b.keys())} are in one file alone")
    for name, tensor in a.items():
        if tensor[:2] != b[name][:2]:
            sys.exit(f"{name}: {tensor[:2]} and {b[name][:2]}")
        if tensor[2] == b[name][2]:
            continue
        ours, theirs = read_safetensors.values(tensor), read_safetensors.values(b[name])
        most = max(max(abs(x) for x in ours), 1e-30)
        difference = max(abs(x - y) for x, y in zip(ours, theirs)) / most
        # Zeros of two signs differ in bits alone. A NaN is infinitely far from everything.
        difference = max(difference, 1e-45) if difference == difference else float("inf")
        if difference > worst:
            worst, where = difference, name
    return worst, where


def tensors_of(path):
    return {name.removeprefix("module."): t for name, t in read_safetensors.read(path)[0].items()}


def main():
    most, first = float(sys.argv[1]), tensors_of(sys.argv[2])
    worst = 0.0
    for path in sys.argv[3:]:
        difference, name = worst_of(first, tensors_of(path))
        if difference > most:
            sys.exit(f"{sys.argv[2]} and {path}: {name} differs by {difference:.3g}, allowed {most:g}")
        worst = max(worst, difference)
    print(f"{len(first)} tensors in {len(sys.argv) - 2} files agree, worst {worst:.3g}")


main()
