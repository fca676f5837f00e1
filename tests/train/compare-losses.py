# SPDX-License-Identifier: MIT
"""compare-losses.py A B [RELATIVE [SPREAD [FROM]]]: the losses of two files of metrics, step by step.

RELATIVE is the greatest difference allowed, of A's loss (0: not one bit). With SPREAD, a third file
of metrics, from step FROM on three times the greatest difference of it from A is allowed as well.
"""
import json
import sys


def losses(path):
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    return {line["step"]: line["loss"] for line in lines if line["type"] == "step"}


def main():
    a, b = losses(sys.argv[1]), losses(sys.argv[2])
    most = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
    other = losses(sys.argv[4]) if len(sys.argv) > 4 else None
    first = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    if not a or a.keys() != b.keys():
        sys.exit(f"{len(a)} steps in {sys.argv[1]}, {len(b)} in {sys.argv[2]}")
    worst = 0.0
    spread = 3 * max(abs(a[s] - other[s]) / abs(a[s]) for s in a) if other else 0.0
    for step in sorted(a):
        allowed = max(most, spread) if other and step >= first else most
        difference = abs(a[step] - b[step]) / abs(a[step])
        worst = max(worst, difference)
        if not difference <= allowed:
            sys.exit(f"step {step}: {a[step]!r} and {b[step]!r} differ by {difference:.3g}, allowed {allowed:.3g}")
    print(f"{len(a)} steps agree, worst {worst:.3g}")


main()
