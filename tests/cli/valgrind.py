#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs each command of nomem.py once under valgrind, and prints TAP: valgrind.py GPUMAP

Its tests run the command thousands of times, which takes hours under valgrind, and shows no more."""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from emit import targets
from nomem import COMMANDS, EMIT, FILES, FOREIGN

VALGRIND = ["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full", "--trace-children=no"]


def environment_of(words):
    """The environment of a command, and its words without those that set variables."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN)}
    environment.update(HOME=os.getcwd(), XDG_CONFIG_HOME=os.getcwd() + "/none")
    if words[0] == "exec":
        environment.update(RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", LOCAL_WORLD_SIZE="1")
    while "=" in words[0]:
        environment.update([words[0].split("=", 1)])
        words = words[1:]
    return environment, words


def main():
    gpumap = os.path.abspath(sys.argv[1])
    if not shutil.which("valgrind"):
        print("1..0 # SKIP valgrind is missing")
        return 0
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    for path, text in FILES.items():
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    for name, ranks in ("one.json", 1), ("two.json", 2):
        plan = f"plan --inventory 4 --ranks {ranks} --cpu-bind none -o {name} -- echo hi"
        subprocess.run([gpumap, *plan.split()], check=True, capture_output=True,
                       env=environment_of(["plan"])[0])
    commands = COMMANDS + [(f"emit {t}", EMIT.format(target=t), None) for t in targets(gpumap)]
    sleep = subprocess.Popen(["sleep", "1000"], env={"CUDA_VISIBLE_DEVICES": "1,0"})
    failed = 0
    print(f"1..{len(commands)}")
    try:
        for i, (name, arguments, _) in enumerate(commands, 1):
            environment, words = environment_of(shlex.split(arguments.replace("{pid}", str(sleep.pid))))
            done = subprocess.run([*VALGRIND, gpumap, *words], stdin=subprocess.DEVNULL, text=True,
                                  capture_output=True, env=environment, timeout=1200)
            wrong = done.returncode == 99 or "==" in done.stderr
            print(("not ok " if wrong else "ok ") + f"{i} - valgrind: {name}", flush=True)
            for line in done.stderr.splitlines()[:30] if wrong else []:
                print("#   " + line)
            failed += wrong
    finally:
        sleep.kill()
        os.chdir("/")
        shutil.rmtree(folder)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
