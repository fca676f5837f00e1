# SPDX-License-Identifier: MIT
"""Plans, profiles and inventories of the module beside those of the command. usage: plan.py GPUMAP"""
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import gpumap
import tap

GPUMAP = os.path.abspath(sys.argv[1])
BASE = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LC_ALL")}
INI = """[program p]
command = echo hi %r
device = cuda:%l
[profile a]
program = p
gpus = 0,1,2,3
cpu_bind = none
[profile b]
inherit = a
ranks = 2
[env b]
NCCL_DEBUG = INFO
"""
# keywords, and a program that the command is given as words
ROWS = [
    ({"inventory": 4, "device": "cuda:%l", "cpu_bind": "none"}, ["true"]),
    ({"inventory": "8xH100", "gpus": [2, 3, 4, 5], "device": "cuda:%l", "ids": "index"}, ["echo", "two words", "%r"]),
    ({"inventory": 8, "hosts": ["n1", "n2"], "device": "cuda:%l", "ranks": 4}, ["true"]),
    ({"inventory": "8xH100", "hosts": "tux[08-11]", "device": "cuda:%l", "share": "isolate"}, ["true"]),
    ({"inventory": 4, "mode": "dp", "device_ids": [0, 1], "device": "cuda:0"}, ["true"]),
    ({"inventory": 2, "ranks": 3, "device": "cuda:%l"}, ["true"]),
    ({"inventory": 2, "gpus": "5"}, ["true"]),
    ({"hosts": ["n1", "n2"], "gpus": [0, 1]}, ["true"]),
    ({"gpus": [0, 1], "cpu_bind": "none"}, ["true"]),
    ({"inventory": 4, "hosts": [os.uname().nodename, "n2"], "device": "cuda:%l"}, ["true"]),
]


def command(*words, environ=None):
    return subprocess.run([GPUMAP, *words], capture_output=True, text=True, env={**BASE, **(environ or {})},
                          stdin=subprocess.DEVNULL)


def option(key, value):
    return f"--{key.replace('_', '-')}={','.join(map(str, value)) if isinstance(value, list) else value}"


def without_origin(plan):
    """The words of the command line have another origin than a keyword."""
    return plan.replace('"command line"', '"--command"')


def check_plan(keywords, program):
    told = command("plan", "--json", *(option(*item) for item in keywords.items()), "--", *program)
    plan = gpumap.Plan(**keywords, command=program, environ=BASE)
    if without_origin(told.stdout) != plan.json():
        return f"{told.stdout}\n{plan.json()}\n{told.stderr}"
    if (told.returncode == 0) != plan.answered:
        return f"{told.returncode} {plan.answered}"
    if len(plan) != plan.world_size or [r.rank for r in plan] != list(range(len(plan))):
        return f"{list(plan)}"
    return None


def plan_file():
    """a plan that was written is read, and emitted as the command does"""
    command("plan", "--inventory=4", "--device=cuda:%l", "--cpu-bind=none", "-o", "plan.json", "--", "true")
    plan = gpumap.Plan.read("plan.json")
    assert plan.answered and len(plan) == 4 and plan[-1].physical == 3, plan
    assert plan[1].environ["RANK"] == "1" and plan[1].arguments == ("true",)
    told = command("emit", "shell", "--plan=plan.json")
    assert told.stdout == plan.emit("shell"), told
    assert plan._repr_svg_() == plan.svg() and "<svg" in plan.svg()


def profiles():
    """a profile is read, and its settings are those of the command"""
    with open("gpumap.ini", "w", encoding="utf-8") as file:
        file.write(INI)
    profile = gpumap.Profile("gpumap.ini", "b", threads=3)
    assert (profile.name, profile["ranks"], profile["threads"], profile.names) == ("b", "2", "3", ("a", "b"))
    assert profile.origin("ranks") == "gpumap.ini:10" and profile.origin("threads") == "--threads", \
        (profile.origin("ranks"), profile.origin("threads"))
    assert profile.command == ("echo", "hi", "%r") and profile.check() == ()
    told = command("config", "--json", "--config=gpumap.ini", "--profile=b", "--threads=3")
    assert told.stdout == profile.json(), told.stdout + profile.json()
    assert dict(profile)["mode"] == profile["mode"] and len(profile.keys()) > 20
    plan = gpumap.Plan(profile, inventory=4)
    assert [r.arguments for r in plan] == [("echo", "hi", "0"), ("echo", "hi", "1")] and plan.profile == "b"
    assert plan[0].environ["NCCL_DEBUG"] == "INFO"
    assert gpumap.Profile.find(environ={"GPUMAP_CONFIG": "gpumap.ini", "GPUMAP_RANKS": "3"}, name="a")["ranks"] == "3"


MACHINE = """[snapshot]
schema = 2
source = nvml
driver = 570.1
usage = yes
[gpu 0]
uuid = GPU-00000000-0000-0000-0000-00000000000a
name = H100
mig_enabled = yes
used = 1048576
processes = all
[mig 0:0]
uuid = MIG-00000000-0000-0000-0000-00000000000b
profile = 1g.10gb
gi = 7
ci = 0
[process 0:0]
pid = 5
uid = 1000
user = ada
mig = 0
memory = 4096
command = python3 x.py
types = compute
visible = yes
"""


def inventories():
    """a machine is read with instances and processes, saved, and printed as JSON"""
    machine = gpumap.Inventory.parse(MACHINE, "a.ini")
    gpu = machine[0]
    assert (machine.source, machine.driver, machine.usage, machine.assumed, len(machine)) == \
        ("nvml", "570.1", True, False, 1), repr(machine)
    assert gpu.mig is True and gpu.memory_used == 1048576 and gpu.temperature is None and gpu.gi is None
    assert [(i.uuid[-1], i.profile, i.gi, i.ci) for i in gpu.instances] == [("b", "1g.10gb", 7, 0)]
    assert gpu.processes == gpu.instances[0].processes
    process = gpu.processes[0]
    assert (process.pid, process.user, process.uid, process.memory, process.command, process.mig, process.visible) == \
        (5, "ada", 1000, 4096, "python3 x.py", 0, True), process
    machine.save("saved.ini")
    again = gpumap.Inventory.read("saved.ini")
    assert list(again) == list(machine) and again.ini() == machine.ini()
    told = command("inventory", "--json", "--inventory=saved.ini")
    assert told.stdout == again.json(), told.stdout + again.json()
    answer = gpumap.resolve(inventory=machine, visible="MIG-00000000-0000-0000-0000-00000000000b")
    assert (answer.physical, answer.mig, answer.uuid[:4]) == (0, 0, "MIG-"), answer


def sequences():
    """plans and inventories have slices, and a plan is false if it cannot be started"""
    machine, plan = gpumap.Inventory(4), gpumap.Plan(inventory=4, device="cuda:%l", command="true")
    assert [gpu.physical for gpu in machine[1:3]] == [1, 2] and machine[::-1][0].physical == 3 == machine[-1].physical
    assert [rank.rank for rank in plan[2:]] == [2, 3] and plan[-4].rank == 0
    for what, at in (machine, 4), (machine, -5), (plan, 4), (plan, -5):
        try:
            what[at]
        except IndexError:
            continue
        return f"no exception: {what}[{at}]"
    assert plan and not gpumap.Plan(inventory=2, gpus="5", command="true")
    assert repr(plan) == "<gpumap.Plan 4 ranks, 1 host>", plan
    assert plan.setting("ranks") == plan.setting("ranks", rank=3) == plan.setting("ranks", None)
    for rank in -1, -5, 4, 2**70:
        try:
            plan.setting("ranks", rank)
        except IndexError:
            continue
        return f"no exception: {rank}"


def mappings():
    """a profile reads as a dict"""
    profile = gpumap.Profile(ranks=2, timeout=1.5, command=["a", 1, Path("b c")])
    assert len(profile) == len(list(profile)) == len(profile.items()) == len(profile.values()) > 20
    assert ("ranks", "2") in profile.items() and "2" in profile.values() and profile["timeout"] == "1500ms"
    assert "ranks" in profile and "gups" not in profile and 3 not in profile
    assert (profile.get("ranks"), profile.get("gups"), profile.get("gups", 5)) == ("2", None, 5)
    assert profile.command == ("a", "1", "b c")
    for call in (lambda: gpumap.Profile("a.ini", path="b.ini"), lambda: gpumap.Profile("a.ini", "a", name="a"),
                 lambda: gpumap.Plan(profile, profile=profile), lambda: gpumap.Profile(kill_grace=True),
                 lambda: gpumap.Profile(3), lambda: gpumap.Plan.read(None)):
        try:
            call()
        except TypeError:
            continue
        return "no exception"


def paths():
    """paths are str, bytes or os.PathLike, and never standard input"""
    gpumap.Inventory(2).save(Path("two.ini"))
    gpumap.Inventory(2).save(b"too.ini")
    with os.scandir(".") as entries:
        assert sorted(len(gpumap.Inventory(e)) for e in entries if e.name in ("two.ini", "too.ini")) == [2, 2]
    for call in gpumap.Inventory, gpumap.Plan.read, lambda name: gpumap.Plan(inventory=name):
        try:
            call("-")
        except gpumap.InputError as error:
            assert "standard input" in str(error)
        else:
            return f"no exception: {call}"


def signals():
    """a signal ends no read, and the exception of its handler wins"""
    os.mkfifo("pipe")
    text = gpumap.Inventory("1xH100").ini()

    def read(handler):
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        writer = threading.Timer(0.5, Path("pipe").write_text, (text, "utf-8"))
        writer.start()
        try:
            return len(gpumap.Inventory("pipe"))
        finally:
            writer.join()

    assert read(lambda *_: None) == 1
    try:
        read(lambda *_: 1 // 0)
    except ZeroDivisionError:
        return None
    return "no exception"


def mistakes():
    """mistakes in profiles have their place"""
    with open("bad.ini", "w", encoding="utf-8") as file:
        file.write("[profile a]\nranks = many\ngups = 1\n")
    try:
        gpumap.Profile("bad.ini")
    except gpumap.InputError as error:
        assert [f.line for f in error.findings] == [2, 3] and "bad.ini:2:" in str(error), error.findings
    else:
        return "no exception"
    for keywords in {"gups": 1}, {"ranks": "many"}, {"hosts": "slurm", "command": "true"}, {"inventory": "/none"}:
        try:
            gpumap.Plan(**{"inventory": 2, **keywords})
        except gpumap.Error as error:
            assert error.id and error.fix, repr(error)
        else:
            return f"no exception: {keywords}"


for keywords, program in ROWS:
    why = check_plan(keywords, program)
    tap.result(why is None, f"plan of {keywords}", why)
for test in (plan_file, profiles, inventories, sequences, mappings, paths, signals, mistakes):
    tap.attempt(test)
tap.done()
