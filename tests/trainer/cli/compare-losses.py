# SPDX-License-Identifier: MIT
"""compare-losses.py A B [RELATIVE[,NORMS] [SPREAD [FROM]]]: two files of metrics, step by step.

Losses, the norms of gradients, and losses and accuracies of tests where both files have them. RELATIVE
is the greatest difference allowed, of A's value (0: not one bit); NORMS that of norms, if it is another.
With SPREAD, a third file of metrics, from step FROM on three times the greatest difference of its losses
from A's is allowed as well.
"""
import json
import sys


def lines_of(path):
    """The lines of each type, by step."""
    lines = {"step": {}, "evaluation": {}}
    with open(path) as file:
        for line in map(json.loads, file):
            lines[line["type"]][line["step"]] = line
    return lines["step"], lines["evaluation"]


def difference(a, b, what):
    """Of A's value; None and nothing else is like None."""
    if a[what] is None or b[what] is None:
        return 0.0 if a[what] == b[what] or what != "loss" else float("inf")
    return abs(a[what] - b[what]) / max(abs(a[what]), 1e-30)


def main():
    (a, tests), (b, other_tests) = lines_of(sys.argv[1]), lines_of(sys.argv[2])
    limits = sys.argv[3].split(",") if len(sys.argv) > 3 else ["0"]
    most, most_of_norms = float(limits[0]), float(limits[-1])
    other = lines_of(sys.argv[4])[0] if len(sys.argv) > 4 else None
    first = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    if not a or a.keys() != b.keys():
        sys.exit(f"{len(a)} steps in {sys.argv[1]}, {len(b)} in {sys.argv[2]}")
    worst, norms = 0.0, 0
    spread = max(difference(a[s], other[s], "loss") for s in a) if other else 0.0
    for step in sorted(a):
        others = 3 * spread if step >= first else 0.0
        for what, limit in ("loss", most), ("gradient_norm", most_of_norms):
            allowed = max(limit, others)
            found = difference(a[step], b[step], what)
            worst = max(worst, found)
            if not found <= allowed:
                sys.exit(f"step {step}: {what} {a[step][what]!r} and {b[step][what]!r} differ by "
                         f"{found:.3g}, allowed {allowed:.3g}")
        norms += a[step]["gradient_norm"] is not None and b[step]["gradient_norm"] is not None
    allowed = max(most, others)
    for step in sorted(tests.keys() & other_tests.keys()):
        for what in ("loss", "accuracy"):
            found = difference(tests[step], other_tests[step], what)
            worst = max(worst, found)
            if not found <= allowed:
                sys.exit(f"test after step {step}: {what} {tests[step][what]!r} and "
                         f"{other_tests[step][what]!r} differ by {found:.3g}, allowed {allowed:.3g}")
    with_norms = f" and {norms} norms" if norms else ""
    with_tests = f" and {len(tests)} tests" if tests and other_tests else ""
    with_spread = f", spread {spread:.3g}" if other else ""
    print(f"{len(a)} steps{with_norms}{with_tests} agree, worst {worst:.3g}{with_spread}")


main()
