# SPDX-License-Identifier: MIT
"""The module gives what the command gives, for the rows of tables. usage: differ.py GPUMAP TABLE...

Tables are tests/vectors/*.tsv (statements, environment, machine), tests/cli/explain.tsv and mapping.tsv
(arguments, environment)."""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

import gpumap
import tap

KEYS = ("visible", "prefix", "script_export", "script_inline", "launcher", "in_code", "after_init", "set_device",
        "device", "device_ids", "mode", "local_rank", "batch", "container", "cgroup", "mps_server", "driver",
        "dialect", "strict")


def machine_file(text, folder):
    """A machine of tests/unit/machines.h as what --inventory takes; None: it is not known."""
    if text == "-" or re.match(r"\d[^:]*$", text):
        return None if text == "-" else text
    head, gpus, order = ["[snapshot]", "schema = 1", "source = test"], [], None
    for word in text.split(" "):
        if word.startswith("driver="):
            head.append("driver = " + word[7:])
        elif word == "partial":
            head.append("partial = yes")
        elif word.startswith("fastest="):
            order = word[8:]
        else:
            gpus += re.findall(r"(?:[^,\[]|\[[^\]]*\])+", word)
    if order:
        head.append("cuda_fastest = " + order)
    for number, gpu in enumerate(gpus):
        head += gpu_section(gpu, number)
    path = os.path.join(folder, f"m{abs(hash(text))}.ini")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(head) + "\n")
    return path


def gpu_section(text, number):
    text, _, migs = text.partition("[")
    index, colon, rest = text.partition(":")
    if not colon:
        index, rest = number, text
    uuid, _, name = rest.partition("=")
    lines = [f"[gpu {index}]"] + [f"name = {name}"] * bool(name) + [f"uuid = {uuid}"] * (uuid != "-")
    for i, mig in enumerate(migs.rstrip("]").split(";") if migs else ()):
        mig, _, profile = mig.partition("=")
        uuid, _, place = mig.partition("@")
        lines += [f"[mig {index}:{i}]"] + [f"uuid = {uuid}"] * (uuid != "-")
        lines += [f"profile = {profile}"] * bool(profile)
        if place:
            lines += ["gi = " + place.split(".")[0], "ci = " + place.split(".")[1]]
    return lines


def keywords_of(statements):
    """[("in_code", "A=1")] as keywords; a key that is repeated has a list of dicts."""
    keywords = {}
    for key, value in statements:
        keywords.setdefault(key, []).append(value)
    lists = ("visible", "prefix", "script_export", "script_inline", "in_code", "after_init")
    return {key: [as_dict(v) for v in values] if len(values) > 1 and key in lists else values[-1]
            for key, values in keywords.items()}


def as_dict(value):
    if value.startswith("-"):
        return {value[1:]: None}
    name, assigned, text = value.partition("=")
    return {name: text} if assigned else {"CUDA_VISIBLE_DEVICES": value}


def arguments_of(words):
    """The statements and the machine of a command line; None: it has another option."""
    words, statements, machine = list(words), [], None
    if words and words[0] == "explain":
        words.pop(0)
    while words:
        word = words.pop(0)
        if not word.startswith("--") or word == "--":
            return None
        key, assigned, value = word[2:].partition("=")
        key = key.replace("-", "_")
        if not assigned and key == "strict":
            value = "yes"
        elif not assigned:
            if not words:
                return None
            value = words.pop(0)
        if key == "inventory":
            machine = value
        elif key not in KEYS:
            return None
        else:
            statements.append((key, value))
    return statements, machine


class Command:
    def __init__(self, path):
        self.path = path
        self.base = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LC_ALL")}

    def run(self, statements, environ, machine, *more):
        words = [f"--{key.replace('_', '-')}={value}" for key, value in statements]
        words += [f"--inventory={machine}"] if machine is not None else []
        return subprocess.run([self.path, "explain", *more, *words], capture_output=True, timeout=60,
                              env={**self.base, **environ}, stdin=subprocess.DEVNULL)


def differs(command, statements, environ, machine):
    """(None or how the two answers differ, whether the input was refused)"""
    told = command.run(statements, environ, machine, "--json")
    wanted = json.loads(told.stdout)
    try:
        got = gpumap.resolve(**keywords_of(statements), inventory=machine, environ={**command.base, **environ})
    except gpumap.Error as error:
        theirs = [(f["id"], f["rule"], f["text"], f["fix"], f["origin"]) for f in wanted["findings"]]
        ours = [(f.id, f.rule, f.text, f.fix, f.origin) for f in error.findings]
        return None if told.returncode == 2 and ours == theirs else f"{told.returncode} {theirs}\n{ours}", True
    return differ(told, got, command.run(statements, environ, machine).stdout.decode(), wanted["chosen"]), False


def differ(told, got, text, device):
    if told.stdout.decode() != got.json():
        return f"{told.stdout.decode()}\n{got.json()}"
    if text != str(got) + "\n":
        return f"the text differs: {got}"
    if (told.returncode == 0) != got.answered:
        return f"status {told.returncode}, answered {got.answered}"
    return None if got.physical == (device and device["physical"]) else f"{got.physical} {device}"


def rows_of(path, folder):
    """(name, statements, environment, machine) of each row."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        rows = [line.split("\t") for line in file.read().splitlines() if line and not line.startswith("#")]
    header, rows = rows[0], rows[1:]
    for row in rows:
        row += [""] * (len(header) - len(row))
        if header[0] == "name":
            pairs = [piece.split("=", 1) for piece in row[1].split("|") if piece]
            names = [piece.split("=", 1) for piece in row[2].split("|") if piece]
            if len({name[0] for name in names}) == len(names) and all(len(name) == 2 for name in names):
                yield row[0], pairs, dict(names), machine_file(row[3], folder)
            continue
        asked = arguments_of(shlex.split(row[header.index("arguments")]))
        if asked:
            environ = dict(v.split("=", 1) for v in shlex.split(row[header.index("environment")]))
            yield row[0], asked[0], environ, asked[1]


def main():
    command = Command(os.path.abspath(sys.argv[1]))
    with tempfile.TemporaryDirectory() as folder:
        for path in [os.path.abspath(path) for path in sys.argv[2:]]:
            os.chdir(os.path.dirname(path))
            count, refused, wrong = 0, 0, []
            for name, *row in rows_of(path, folder):
                count += 1
                why, raised = differs(command, *row)
                refused += raised
                if why:
                    wrong.append(f"{name} {row}\n{why}")
            tap.result(count > refused and not wrong, f"{os.path.basename(path)}: {count} rows as the command, {refused} refused",
                       "\n".join(wrong[:5]) + f"\n{len(wrong)} differ")
    tap.done()


main()
