# SPDX-License-Identifier: MIT
"""compare-spread.py TIMES TRUE OURS THEIRS...: which roundings are how far from what is true.

Each name is of files of metrics NAME-SEED, of the seeds that TRUE has. Of each, the greatest
relative difference of its losses from TRUE's is taken over all steps of all seeds: OURS may be TIMES
as far as the farthest of THEIRS.
"""
import glob
import json
import sys


def losses(path):
    with open(path) as file:
        return [line["loss"] for line in map(json.loads, file) if line["type"] == "step"]


def distance(true, path, steps):
    mine = losses(path)
    if len(mine) != len(true):
        sys.exit(f"{len(mine)} steps in {path}, not {len(true)}")
    return max(abs(a - b) / abs(a) for a, b in list(zip(true, mine))[:steps])


def main():
    times, of_true, *names = float(sys.argv[1]), *sys.argv[2:]
    seeds = sorted(path[len(of_true) + 1:] for path in glob.glob(of_true + "-*"))
    if not seeds or len(names) < 2:
        sys.exit("usage: compare-spread.py TIMES TRUE OURS THEIRS...")
    worst = []
    for name in names:
        true = [losses(f"{of_true}-{seed}") for seed in seeds]
        early = [distance(t, f"{name}-{seed}", 10) for t, seed in zip(true, seeds)]
        whole = [distance(t, f"{name}-{seed}", len(t)) for t, seed in zip(true, seeds)]
        worst.append(max(whole))
        print(f"{name}: 10 steps", *(f"{d:.1e}" for d in early), f"and {len(true[0])}", *(f"{d:.1e}" for d in whole))
    allowed = times * max(worst[1:])
    if not worst[0] <= allowed:
        sys.exit(f"{names[0]} is {worst[0]:.3g} from {of_true}, allowed {allowed:.3g}")


main()
