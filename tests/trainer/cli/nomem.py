#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes each allocation of training runs fail once, and prints TAP: nomem.py TRAIN-FAILING

The run ends as usual, or with status 1 and one line; its checkpoints are whole. Without GPUMAP_TEST_FULL every so many
allocations are tried, beginning with a drawn one."""
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

FULL = bool(os.environ.get("GPUMAP_TEST_FULL"))
TRIED = 60  # of a run's allocations, if not all
LIMIT = 1 << 20  # allocations of no run are that many
ENDS = "gpumap-train: out of memory"
# What else has no memory: what the user chose the size of, a thread. OpenMP and oneDNN end the process themselves.
SAYS = re.compile(r"gpumap-train: .*([Oo]ut of memory|[Cc]annot allocate memory|cannot start (the )?thread)|libgomp: ")
THROWN = "std::bad_alloc"
RUNS = {
    "a run with all files": "--checkpoint folder --checkpoint-every 1 --metrics m.jsonl --plot p.svg --profile-steps 1 "
                            "--profile-to t --evaluate-every 1",
    "a resumed run": "--checkpoint folder --resume --metrics m.jsonl",
    "a run that begins with weights": "--weights folder/weights",
    "the help": "--help",
}
SMALL = ("--backend reference --model net28 --samples 8 --test-samples 4 --global-batch 4 --steps 2 --progress none "
         "--threads 1").split()
NAMES = {name: SMALL + options.split() for name, options in RUNS.items()}
# Two ranks are two threads of the process.
NAMES["ranks of a process"] = SMALL + ["--mode", "ddp", "--visible", "0,1"]
NAMES["stages of a process"] = SMALL + ["--mode", "mp", "--visible", "0,1"]
NAMES["a run on CPU devices"] = SMALL[2:]


def run(program, words, number, folder):
    """The status and both outputs of a run, and whether an allocation failed."""
    read, write = os.pipe()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GPUMAP", "OMP_", "CUDA", "SLURM"))}
    environment.update(GPUMAP_TEST_FAIL=str(number), OMP_WAIT_POLICY="passive", LC_ALL="C")
    with subprocess.Popen([program] + words, cwd=folder, env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                          preexec_fn=lambda: os.dup2(write, 9), pass_fds=(9, write)) as process:
        os.close(write)
        out, err = process.communicate(timeout=300)
    told = os.read(read, 1)
    os.close(read)
    return process.returncode, out, err, bool(told)


def fault(got, folder, program):
    """What is wrong with a run whose allocation failed, or None."""
    status, _, err, _ = got
    lines = [line for line in err.splitlines() if line and "gpumap-train: remark: " not in line]
    if status == -signal.SIGABRT and THROWN in err:
        return None
    if status not in (0, 1):
        return f"status {status}: {err}"
    if status == 1 and (len(lines) != 1 or not SAYS.match(lines[0])):
        return f"status 1 without one line: {err}"
    if os.path.isdir(folder + "/folder") and any(n.endswith(".safetensors") for n in os.listdir(folder + "/folder")):
        again = run(program, SMALL + ["--checkpoint", "folder", "--resume"], 0, folder)
        if again[0] or "warning" in again[2]:
            return f"a checkpoint is not whole: {again[2]}"
    return None


def try_run(program, name, words, draw):
    """The first fault of a run's allocations, or None."""
    ended = 0
    with tempfile.TemporaryDirectory() as top:
        good = top + "/good"
        os.mkdir(good)
        if "--resume" in words or "--weights" in words:
            run(program, SMALL + ["--checkpoint", "folder", "--steps", "1", "--metrics", "m.jsonl"], 0, good)
        if "--weights" in words:
            saved, = glob.glob(good + "/folder/*.safetensors")
            os.rename(saved, good + "/folder/weights")
        shutil.copytree(good, top + "/whole")
        whole = run(program, words, 0, top + "/whole")
        if whole[0]:
            return f"it ends with status {whole[0]} when no allocation fails: {whole[2]}"
        low, high = 1, LIMIT
        while low < high:  # the number of allocations
            middle = (low + high) // 2
            shutil.copytree(good, top + "/count")
            if run(program, words, middle, top + "/count")[3]:
                low = middle + 1
            else:
                high = middle
            shutil.rmtree(top + "/count")
        step = 1 if FULL else max(1, low // TRIED)
        for number in range(1 + draw.randrange(step), low, step):
            shutil.copytree(good, top + "/run")
            got = run(program, words, number, top + "/run")
            wrong = fault(got, top + "/run", program)
            shutil.rmtree(top + "/run")
            if wrong:
                return f"allocation {number} of {low - 1}: {wrong}"
            ended += got[2].startswith(ENDS)
    if not ended and "reference" in words:  # oneDNN makes most allocations of the others
        return f"of {low - 1} allocations none ended the run"
    print(f"# {name}: {low - 1} allocations")
    return None


def main():
    program = os.path.abspath(sys.argv[1])
    can = subprocess.run([program], env={**os.environ, "GPUMAP_TEST_FAIL": "?"}, stdout=subprocess.PIPE, text=True,
                         check=False)
    if can.stdout.strip() != "yes":
        print("1..0 # SKIP allocations cannot be made to fail under this allocator")
        return 0
    seed = int(os.environ.get("GPUMAP_TEST_SEED") or random.randrange(1 << 32))
    print(f"# seed {seed}\n1..{len(NAMES)}", flush=True)
    draw = random.Random(seed)
    for number, (name, words) in enumerate(NAMES.items(), 1):
        wrong = try_run(program, name, words, draw)
        print("not ok" if wrong else "ok", number, "-", name, flush=True)
        for line in (wrong or "").splitlines():
            print("#", line, flush=True)
    return 0


sys.exit(main())
