#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether emitted text hands over arguments and variables to the byte: emit.py GPUMAP [ROUNDS]

Launchers and the program are replaced by a script that notes what it was started with. For
random arguments and values each launcher's text is run by sh, and for the launcher shell also
by what other shells there are. Prints TAP."""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

NOTE = """#!/bin/sh
printf '%s\\0' "$@" >"$NOTES/${0##*/}.${RANK-}.arguments"
env -0 >"$NOTES/${0##*/}.${RANK-}.environment"
"""
# The programs that emitted scripts start. An emitted command starts the launcher that its target is named after.
STARTED = ("srun", "mpirun", "program")
PIECES = [b"a", b"-", b"--", b"=", b" ", b"\t", b"\n", b"'", b'"', b"\\", b"$", b"$HOME", b"${", b"%",
          b"%r", b"*", b"?", b"[a]", b"~", b"#", b";", b"&", b"|", b"<", b">", b"(", b")", b"!", b"`",
          "\u00e9\u4e2d".encode(), b"\xff", b"END", b"{a,b}"]


def targets(gpumap):
    """The launchers that gpumap emit knows."""
    text = subprocess.run([gpumap, "emit", "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  ([a-z]+) ", re.search(r"(?ms)^launchers$(.*?)^$", text)[1], re.M)


def word(rng):
    return b"".join(rng.choice(PIECES) for _ in range(rng.randrange(6)))


def ini(value):
    """A value of a profile that is these bytes and nothing else."""
    text = "".join(chr(c) if chr(c).isalnum() and c < 128 else f"\\x{c:02x}" for c in value)
    return '"' + text.replace("\\x25", "%%").replace("\\x24\\x7b", "$${") + '"'


def noted(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read().split(b"\0")[:-1]


def trial(gpumap, folder, target, shell, rng):
    """None, or what is wrong."""
    arguments = [word(rng) for _ in range(rng.randrange(1, 5))]
    values = {f"ODD{i}": word(rng).replace(b"\xff", b"\xc3\xbf") for i in range(3)}
    with open("odd.ini", "w", encoding="ascii") as file:
        file.write("[profile odd]\n[env odd]\n")
        file.writelines(f"{name} = {ini(value)}\n" for name, value in values.items())
    emitted = subprocess.run([gpumap, "emit", target, "--config", "odd.ini", "--inventory", "2",
                              "--cpu-bind", "none", "--", "program", *arguments],
                             capture_output=True, check=False)
    if emitted.returncode:
        return emitted.stderr.decode(errors="replace")
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    run = subprocess.run([shell, "-s"] if target != "shell" else [shell, "/dev/stdin"],
                         input=emitted.stdout, capture_output=True, check=False, timeout=300)
    said = f"{arguments} {values}\n{emitted.stdout.decode(errors='replace')[-2000:]}"
    if run.returncode or run.stderr:
        return f"status {run.returncode}, {run.stderr} of {said}"
    started = {name.split(".")[0] for name in os.listdir(folder)}
    if len(started) != 1:
        return f"started {sorted(started)}, not one program, by {said}"
    for rank in ("0", "1") if target == "shell" else ("",):
        name = f"{[*started][0]}.{rank}."
        got = noted(folder, name + "arguments")
        if got[len(got) - len(arguments):] != arguments:
            return f"got {got}\nfor {said}"
        environment = noted(folder, name + "environment")
        for variable, value in values.items():
            if variable.encode() + b"=" + value not in environment:
                return f"{variable} is not as planned\n{said}"
    return None


def main():
    gpumap, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 12
    seed = int(os.environ.get("GPUMAP_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
    launchers = targets(gpumap)
    shells = [s for s in ("dash", "bash") if shutil.which(s)]
    rng, tests, failures = random.Random(seed), 0, 0
    print(f"# GPUMAP_TEST_SEED={seed}")
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        os.mkdir("bin")
        os.mkdir("notes")
        for name in {*launchers, *STARTED, "gpumap"}:
            with open(f"bin/{name}", "w", encoding="ascii") as file:
                file.write(NOTE)
            os.chmod(f"bin/{name}", 0o755)
        os.environ["PATH"] = f"{scratch}/bin:{os.environ['PATH']}"
        os.environ["NOTES"] = f"{scratch}/notes"
        for variable in [v for v in os.environ if v.startswith(("CUDA", "GPUMAP_")) or v == "RANK"]:
            del os.environ[variable]
        for target in launchers:
            for shell in shells if target == "shell" else ["sh"]:
                wrong = None
                for _ in range(rounds):
                    wrong = wrong or trial(gpumap, "notes", target, shell, rng)
                tests += 1
                failures += bool(wrong)
                print(f"{'not ' if wrong else ''}ok {tests} - {target}, by {shell}")
                if wrong:
                    print("\n".join(f"#   {line}" for line in wrong.splitlines()))
    print(f"1..{tests}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
