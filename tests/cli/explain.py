#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the rows of a table against gpumap and prints TAP: explain.py GPUMAP TABLE [ID...]

Columns: id, arguments, environment, status, what holds; a column "host" before the arguments is the
machine that this host pretends to be. {pid} in arguments is a process with the column's environment,
while gpumap itself has none of it. Terms, with a ! in front for "not":
  chosen= master=         a physical number, 0:1 for a MIG instance, ? undecidable, none
  visible= replicas=      the same, between commas
  certainty= mode= batch= ended=ENTRY:TEXT answered=yes|no
  rule= finding= finding-rule= loser=SOURCE:VALUE     one of several
  out~WORDS err~WORDS     in the text answer, on standard error; + stands for a blank
Every row is run twice, as text and as JSON; both end in the same status, and the JSON is as its schema says."""
import json
import os
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
from schemas import faults

FOREIGN = ("CUDA", "GPUMAP", "SLURM", "NVIDIA", "ROCR", "HIP", "NO_COLOR", "RANK", "WORLD_", "LOCAL_",
           "GROUP_", "ROLE_", "NODE_", "CROSS_", "OMPI", "PMI", "MPI_", "MV2_", "PALS_", "JSM_", "FLUX_")
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}


def run(gpumap, host, arguments, environment):
    pretend = ["pretend", "--inventory", host, "--", gpumap] if host else []
    asked = {**ENVIRONMENT, **environment}
    process = None
    if any("{pid}" in a for a in arguments):
        # Popen returns after exec, so the process has its environment.
        process = subprocess.Popen(["sleep", "600"], env=asked, stdin=subprocess.DEVNULL)
        arguments = [a.replace("{pid}", str(process.pid)) for a in arguments]
        asked = ENVIRONMENT
    try:
        return subprocess.run([gpumap, *pretend, *arguments], capture_output=True, timeout=300,
                              stdin=subprocess.DEVNULL, env=asked)
    finally:
        if process:
            process.kill()
            process.wait()


def device(d):
    if d is None:
        return "none"
    if d["certainty"] == "undecidable":
        return "?"
    number = d["uuid"] if d["physical"] is None else str(d["physical"])
    return number if d["mig"] is None else f"{number}:{d['mig']}"


def one_of(answer, name):
    if name == "rule":
        return [s["rule"] for s in answer["steps"]]
    if name == "finding":
        return [f["id"] for f in answer["findings"]]
    if name == "finding-rule":
        return [f["rule"] for f in answer["findings"]]
    if name == "loser":
        return [f"{l['source']}:{l['value']}" for s in answer["steps"] for l in s["losers"]]
    return None


def member(answer, name):
    if name in ("chosen", "master"):
        return device(answer[name])
    if name in ("visible", "replicas"):
        return ",".join(device(d) for d in answer[name])
    if name == "certainty":
        return answer["chosen"]["certainty"]
    if name == "batch":
        return ",".join(map(str, answer["batch_split"] or []))
    if name == "ended":
        return "{entry}:{text}".format(**answer["ended"]) if answer["ended"] else "none"
    if name == "answered":
        return "yes" if answer["answered"] else "no"
    return answer[name]


def holds(term, text, answer):
    """None, or what is there instead."""
    wanted = not term.startswith("!")
    term = term.lstrip("!")
    if "~" in term.split("=")[0]:
        where, words = term.split("~", 1)
        got = (text.stdout if where == "out" else text.stderr).decode(errors="replace")
        return None if (words.replace("+", " ") in got) == wanted else got.strip()
    name, value = term.split("=", 1)
    several = one_of(answer, name)
    got = several if several is not None else member(answer, name)
    return None if (value in got if several is not None else value == got) == wanted else got


def check(gpumap, row):
    _, host, arguments, environment, status, terms = row
    arguments = shlex.split(arguments)
    environment = dict(v.split("=", 1) for v in shlex.split(environment))
    text = run(gpumap, host, arguments, environment)
    wrong = []
    if str(text.returncode) != status:
        wrong.append(f"status {text.returncode}, not {status}: {text.stderr.decode()[:300]}")
    at = int(bool(arguments) and not arguments[0].startswith("-"))
    other = run(gpumap, host, [*arguments[:at], "--json", *arguments[at:]], environment)
    if "--" not in arguments and not any(a in ("rules", "--help") for a in arguments):
        if other.returncode != text.returncode:
            wrong.append(f"status {other.returncode} with --json")
        try:
            answer = json.loads(other.stdout)
            wrong += faults(answer)
        except ValueError as error:
            return [*wrong, f"JSON: {error}"]
    else:
        answer = None
    for term in terms.split():
        got = holds(term, text, answer)
        if got is not None:
            wrong.append(f"not {term} but {got!r}")
    return wrong


def main():
    gpumap, table, ids = os.path.abspath(sys.argv[1]), sys.argv[2], set(sys.argv[3:])
    with open(table, encoding="utf-8") as file:
        header, *lines = (line.split("\t") for line in file.read().splitlines())
    rows = [c if "host" in header else [c[0], "", *c[1:]] for c in lines]
    rows = [(c + [""] * 6)[:6] for c in rows]
    rows = [r for r in rows if r[0] and not r[0].startswith("#") and (not ids or r[0] in ids)]
    print(f"1..{len(rows)}")
    failed = 0
    for number, row in enumerate(rows, 1):
        try:
            wrong = check(gpumap, row)
        except (subprocess.TimeoutExpired, KeyError, TypeError) as error:
            wrong = [f"{type(error).__name__}: {error}"]
        name = f"{number} - {row[0]}: {row[1]} gpumap {row[2]}  {row[3]}".replace("#", "\\#").rstrip()
        print(("not ok " if wrong else "ok ") + name)
        for line in wrong:
            print("#   " + line.replace("\n", "\n#   "))
        failed += bool(wrong)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
