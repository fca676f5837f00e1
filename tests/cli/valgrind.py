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
from nomem import all_commands, prepare, split

VALGRIND = ["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full", "--trace-children=no"]


def main():
    gpumap = os.path.abspath(sys.argv[1])
    if not shutil.which("valgrind"):
        print("1..0 # SKIP valgrind is missing")
        return 0
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    prepare(gpumap)
    commands = all_commands(gpumap)
    sleep = subprocess.Popen(["sleep", "1000"], env={"CUDA_VISIBLE_DEVICES": "1,0"})
    failed = 0
    print(f"1..{len(commands)}")
    try:
        for i, (name, arguments, _) in enumerate(commands, 1):
            environment, words = split(shlex.split(arguments.replace("{pid}", str(sleep.pid))))
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
