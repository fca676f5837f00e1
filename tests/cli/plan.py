#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the rows of a table against gpumap plan and prints TAP: plan.py GPUMAP TABLE [ID...]

Columns and the way of running are those of explain.py; the arguments follow "plan". Terms:
  answered=yes|no world= hosts=NAMES ranks=COUNTS    of each host, between commas
  lands=PHYSICAL visible=LISTS                       of each rank; - none, 0:1 a MIG instance;
                                                     lists between semicolons
  addr= port= run= mode= arguments=WORDS             + stands for a blank
  setting=KEY:VALUE rule= finding=                   one of several
  out~WORDS err~WORDS                                as in explain.py
Files that rows name: box (two unlike GPUs), mig, uuids.csv (no numbers), lost.txt (GPU 1), hosts.txt, idle.txt, p.ini, old.json, plan.json (a plan of
two ranks), hosts.json (one for two hosts), bad.json (cut short)."""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import explain  # noqa: E402

MORE = ("OMPI", "PMI", "RANK", "LOCAL_", "WORLD_", "MASTER", "PYTHON_EXEC", "OMP_", "PBS", "LSB",
        "FLUX", "TORCH", "COLUMNS", "COBALT", "SGE")
FILES = {
    "box": "GPU 0: Quadro P600 (UUID: GPU-3f1d2c70-8a15-4b7e-9c02-5d6e7f809a11)\n"
           "GPU 1: NVIDIA GeForce RTX 3090 (UUID: GPU-3f7c90e4-61d8-4f3a-a5b9-0c1d2e3f4a22)\n",
    "mig": "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-6a4e1d92-07c3-45b8-8f60-1b2c3d4e5f33)\n"
           "  MIG 3g.20gb     Device  0: (UUID: MIG-0d9c8b7a-6f5e-5d4c-b3a2-918070605044)\n"
           "  MIG 3g.20gb     Device  1: (UUID: MIG-e1f2a3b4-c5d6-57e8-89fa-0b1c2d3e4f55)\n",
    "uuids.csv": "uuid\nGPU-3f1d2c70-8a15-4b7e-9c02-5d6e7f809a11\nGPU-3f7c90e4-61d8-4f3a-a5b9-0c1d2e3f4a22\n",
    "lost.txt": "GPU 0: T4 (UUID: GPU-3f1d2c70-8a15-4b7e-9c02-5d6e7f809a11)\n"
                "Unable to determine the device handle for gpu 0000:0A:00.0: GPU is lost.\n"
                "GPU 2: T4 (UUID: GPU-3f7c90e4-61d8-4f3a-a5b9-0c1d2e3f4a22)\n",
    "hosts.txt": "# a comment\na slots=2\nb:1\nc\n",
    "idle.txt": "a slots=0\nb slots=2\nc:0\n",
    "twice.txt": "a slots=2\nb\na\n",
    "pbs.txt": "a\na\nb\nb\nc\n",
    "p.ini": "[profile base]\ninventory=4\nprogram=t\n[program t]\ndevice=cuda:%l\n"
             "command=train '%r a'\n[env base]\nA=${HOME:-h} %r\n",
    "wrong.ini": "[profile p]\nranks=x\n",
    "gups.ini": "[profile p]\ngups=1\n",
    "old.json": '{"schema": 2, "kind": "plan"}',
    "bad.json": '{"schema": 1, "kind": "plan", "hosts": [',
}


def device(d):
    if d is None:
        return "-"
    return str(d["physical"]) if d["mig"] is None else f"{d['physical']}:{d['mig']}"


def ranks(answer):
    """The ranks of hosts like earlier ones are there only once."""
    for host in answer["hosts"]:
        like = host if host["same_as"] is None else answer["hosts"][host["same_as"]]
        yield from like["ranks"]


def one_of(answer, name):
    if name == "setting":
        return [f"{k}:{v['value']}" for k, v in (answer["settings"] or {}).items()]
    return explain_one_of(answer, name)


def member(answer, name):
    if name == "answered":
        return "yes" if answer["answered"] else "no"
    if name == "hosts":
        return ",".join(h["name"] for h in answer["hosts"])
    if name == "ranks":
        return ",".join(str(h["local_size"]) for h in answer["hosts"])
    if name == "lands":
        return ",".join(device(r["lands"]) for r in ranks(answer))
    if name == "visible":
        return ";".join(r["visible"] for r in ranks(answer))
    if name == "arguments":
        return "+".join(answer["arguments"]).replace(" ", "+")
    names = {"world": "world_size", "addr": "master_addr", "port": "master_port"}
    return str(answer[names.get(name, name)])


def run(gpumap, host, arguments, environment):
    return explain_run(gpumap, host, ["plan", *arguments], environment)


explain_one_of, explain_run = explain.one_of, explain.run
explain.one_of, explain.member, explain.run = one_of, member, run
explain.ENVIRONMENT = {k: v for k, v in explain.ENVIRONMENT.items() if not k.startswith(MORE)}


def main():
    sys.argv[1:3] = map(os.path.abspath, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in FILES.items():
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        subprocess.run([sys.argv[1], "plan", "--inventory", "2", "--device", "cuda:%l", "-o",
                        "plan.json", "t"], check=True, env=explain.ENVIRONMENT,
                       stdout=subprocess.DEVNULL)
        subprocess.run([sys.argv[1], "plan", "--inventory", "2", "--device", "cuda:%l", "--hosts",
                        "a,b", "-o", "hosts.json", "t"], check=True, env=explain.ENVIRONMENT,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        status = explain.main()
        os.chdir("/")
    return status


if __name__ == "__main__":
    sys.exit(main())
