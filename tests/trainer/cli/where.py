# SPDX-License-Identifier: MIT
"""where.py MAPPING...: the devices of a training run are those that gpumap explain --json names.

Standard input is what gpumap-train printed, alone or as rank 0 of gpumap run. A MAPPING is FILE, whose replicas are the devices, or
FILE:chosen, a rank's. Both tables must have these devices, in this order, and no others; each holds
memory; dp's master is the mapping's. The roles and bytes are printed.
"""
import json
import re
import sys

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def devices_of(argument):
    """(logical, physical) of each device, and the master's."""
    path, _, chosen = argument.partition(":")
    with open(path) as file:
        mapping = json.load(file)
    if not mapping["answered"]:
        sys.exit(f"{path}: gpumap has no answer")
    entries = [mapping["chosen"]] if chosen else mapping["replicas"]
    master = None if chosen or mapping["mode"] != "dp" else mapping["master"]["physical"]
    return [(e["logical"], e["physical"]) for e in entries], master


def rows_after(lines, head):
    """The rows of the table that begins with these heads, as words that two spaces part."""
    found = [i for i, line in enumerate(lines) if re.split(r"  +", line.strip())[:len(head)] == head]
    if len(found) != 1:
        sys.exit(f"{len(found)} tables begin with {head}")
    rows = []
    for line in lines[found[0] + 1:]:
        if not re.match(r"  \d", line):
            break
        rows.append(re.split(r"  +", line.strip()))
    return rows


def bytes_of(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def main():
    wanted, master = [], None
    for argument in sys.argv[1:]:
        devices, of_this = devices_of(argument)
        wanted += devices
        master = of_this if of_this is not None else master
    lines = [re.sub(r"^\[0\] ", "", line) for line in sys.stdin.read().splitlines()]
    places = rows_after(lines, ["rank", "local", "device", "GPU"])
    found = [(int(row[2].removeprefix("cuda:")), int(row[3])) for row in places]
    if found != wanted:
        sys.exit(f"it is on (logical, physical) {found}, and gpumap says {wanted}")
    masters = [int(row[3]) for row in places if row[4].startswith("master")]
    if masters != ([] if master is None else [master]):
        sys.exit(f"masters are {masters}, and gpumap says {master}")
    memory = rows_after(lines, ["GPU", "ranks", "role"])
    held = {int(row[0]): bytes_of(row[-1]) for row in memory}
    if sorted(held) != sorted(physical for _, physical in wanted) or min(held.values()) < 1000:
        sys.exit(f"bytes are on {held}, and gpumap says {wanted}")
    print(*(f"GPU {gpu}: {most:.0f} bytes" for gpu, most in held.items()), sep=", ")


main()
