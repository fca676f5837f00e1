# SPDX-License-Identifier: MIT
"""What `gpumap emit accelerate` prints starts the ranks of the plan, by accelerate's own reading of it.
usage: emit-accelerate.py GPUMAP INVENTORY SEED COUNT"""
# pylint: disable=import-outside-toplevel,protected-access,broad-exception-caught
import contextlib
import functools
import json
import os
import random
import subprocess
import sys

# What gpumap says of a rank on the CPU.
SAID = "use_cpu = true puts a single rank on the CPU"
WORDS = ["train.py", "a b", "--lr=1", "--gpu_ids=7", "--num_processes", "-m", "--", "-", "", "$HOME", "'", "x,y"]
# In place of accelerate: it prints how it was called.
RECORD = "#!/bin/sh\nprintf '%s\\0' $# \"$@\"\nenv -0\nprintf '\\0'\n"


class Started(Exception):
    """What accelerate would start."""

    def __init__(self, **start):
        super().__init__(start)
        self.start = start


def draw_options(rng, inventory, count):
    """Options of a plan: GPUs in some order, ranks, hosts, and a program with its arguments."""
    gpus = rng.sample(range(count), rng.randint(1, count))
    ranks = rng.choice(([], [], ["--ranks", str(rng.randint(1, len(gpus)))]))
    options = ["--inventory", rng.choice((inventory, str(count))), "--gpus", ",".join(map(str, gpus))]
    options += ["--cpu-bind", "none", *rng.choice(([], ["--threads", "3"]))]
    options += rng.choice(([], [], ["--hosts", "a,b"], ["--hosts", "a,b,c"]))
    options += rng.choice((["--device", "cuda:%l", *ranks], ["--device", "cuda:%l", *ranks],
                           ["--share", "isolate", "--device", "cuda:0", *(ranks or ["--ranks-per-gpu", "2"])]))
    options += rng.choice(([], ["--ids", "index"])) + rng.choice(([], ["--master-port", "12345"]))
    options += rng.choice(([], ["--on-fail", "restart:2"])) + rng.choice(([], [], ["--pass-local-rank=yes"]))
    program = rng.choice((["train.py"], ["--no-python", "--", "prog"], ["-m", "package.main"]))
    return options + program + [rng.choice(WORDS) for _ in range(rng.randrange(4))]


def draw_settings(rng, count):
    """What `accelerate config` leaves in a file, or None."""
    kind = rng.choice((None, None, "NO", "MULTI_GPU", "MULTI_CPU"))
    ids = rng.choice(("all", "0", "1,0"))
    return kind and f"""compute_environment: LOCAL_MACHINE
debug: false
distributed_type: '{kind}'
downcast_bf16: 'no'
enable_cpu_affinity: {rng.choice(('true', 'false'))}
gpu_ids: {ids}
machine_rank: {rng.randrange(2)}
main_process_ip: 10.0.0.1
main_process_port: {rng.choice(('29511', 'null'))}
main_training_function: main
mixed_precision: {rng.choice(('bf16', "'no'"))}
num_machines: {rng.choice((1, 2))}
num_processes: {rng.randint(1, count)}
rdzv_backend: static
same_network: true
use_cpu: {'true' if kind == 'MULTI_CPU' else 'false'}
"""


def read():
    """Gives the calls of standard input to accelerate, and prints what it would start for each."""
    from accelerate.commands import launch
    from accelerate.commands.config import config_args
    from accelerate.utils import launch as parts
    from torch.distributed import run as torchrun

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # launchers print

    def by_torchrun(args):
        config, command, words = torchrun.config_from_args(args)
        raise Started(words=[command, *words], env=dict(os.environ), local=config.nproc_per_node,
                      nodes=config.max_nodes, node=args.node_rank, restarts=config.max_restarts,
                      meet=config.rdzv_endpoint)

    def alone(words, env):
        raise Started(words=words, env=env, local=1, nodes=1, node=0, restarts=0,
                      meet=env["MASTER_ADDR"] + ":" + env["MASTER_PORT"])

    torchrun.run, launch.subprocess.Popen, parts.is_port_in_use = by_torchrun, alone, lambda port: False
    config_args.default_config_file = launch.default_config_file = "settings.yaml"
    parser = launch.launch_command_parser()
    for line in sys.stdin:
        (words, env), settings = json.loads(line)
        os.environ.clear()
        os.environ.update(env)
        with contextlib.suppress(FileNotFoundError):
            os.unlink("settings.yaml")
        if settings:
            with open("settings.yaml", "w", encoding="utf-8") as file:
                file.write(settings)
        try:
            launch.launch_command(parser.parse_args(words[1:]))
        except Started as job:
            print(json.dumps(job.start), file=answers)
        except (Exception, SystemExit) as why:
            print(json.dumps({"refused": f"{type(why).__name__}: {why}"}), file=answers)
    answers.close()


# --- the comparison ----------------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def shown(gpumap, inventory, variables):
    ran = subprocess.run([gpumap, "--inventory", inventory, "--format", "json"], capture_output=True, check=False,
                         env=dict(variables))
    return [device["physical"] for device in json.loads(ran.stdout)["visible"]]


def physical(gpumap, inventory, env):
    """The numbers of the GPUs that a process with these variables sees."""
    return shown(gpumap, inventory, tuple((name, env[name]) for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
                                          if name in env))


def inside(gpumap, inventory, start, rank):
    """What `gpumap exec` then does in this rank: its environment, and its program."""
    env, local, node = start["env"], start["local"], start["node"]
    address, port = start["meet"].split(":")
    if start["words"][0] != "gpumap":
        return env, start["words"]
    env = {**env, "RANK": str(node * local + rank), "WORLD_SIZE": str(local * start["nodes"]), "LOCAL_RANK": str(rank),
           "LOCAL_WORLD_SIZE": str(local), "GROUP_RANK": str(node), "GROUP_WORLD_SIZE": str(start["nodes"]),
           "MASTER_ADDR": address, "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "none"}
    ran = subprocess.run([gpumap, "exec", "--dry-run", "--json", *start["words"][2:]], capture_output=True, check=False,
                         text=True, env={**env, "GPUMAP_INVENTORY": inventory})
    if not ran.stdout:
        raise ValueError(f"{start['words']}: {ran.stderr}")
    said = json.loads(ran.stdout)
    env.update({change["name"]: change["value"] for change in said["environment"] if change["value"] is not None})
    return env, said["arguments"]


def differs_in_rank(gpumap, inventory, plan, start, rank):
    """How a rank differs from that of the plan, and what gpumap says of that; or None."""
    env, words = inside(gpumap, inventory, start, rank["local_rank"])
    visible = physical(gpumap, inventory, env)
    wanted = physical(gpumap, inventory, {**env, "CUDA_VISIBLE_DEVICES": rank["visible"]})
    words = words[1:] if words[0] == "env" else words
    threads = rank["threads"] and str(rank["threads"])
    if rank["logical"] >= len(visible) or visible[rank["logical"]] != rank["lands"]["physical"]:
        return f"cuda:{rank['logical']} of {visible}, not {rank['lands']}", None
    if words[:len(plan["arguments"])] != plan["arguments"]:
        return f"starts {words}, not {plan['arguments']}", None
    if threads and env.get("OMP_NUM_THREADS") != threads:
        return f"{env.get('OMP_NUM_THREADS')} threads, not {threads}", None
    if visible != wanted:
        return f"sees {visible}, not {wanted}", None
    return None


def differs(gpumap, inventory, plan, starts):
    """How what accelerate starts on the hosts differs from the plan, and what gpumap says of that; or None."""
    for number, (host, start) in enumerate(zip(plan["hosts"], starts)):
        if "refused" in start:
            return f"accelerate refuses: {start['refused']}", None
        if start["env"].get("ACCELERATE_USE_CPU") == "True":
            return f"host {number}: on the CPU", SAID
        ranks = (host if host["same_as"] is None else plan["hosts"][host["same_as"]])["ranks"]
        restarts = plan["settings"]["on_fail"]["value"] == "restart:2" and plan["world_size"] > 1
        want = {"local": len(ranks), "nodes": len(plan["hosts"]), "node": number, "restarts": 2 * restarts}
        if plan["master_port"]:
            want["meet"] = f"{plan['master_addr']}:{plan['master_port']}"
        got = {name: start[name] for name in want}
        if got != want or host["first_rank"] != number * len(ranks):
            return f"host {number}: {got}, not {want}", None
        for rank in ranks:
            why = differs_in_rank(gpumap, inventory, plan, start, rank)
            if why:
                return f"host {number}, rank {rank['rank']}: {why[0]}", why[1]
    return None


def recorded(text):
    """The calls that were printed: their arguments and environment."""
    words = iter(text.split("\0")[:-1])
    for count in words:
        arguments = [next(words) for _ in range(int(count))]
        yield arguments, dict(word.split("=", 1) for word in iter(words.__next__, ""))


def emitted(gpumap, options):
    """The calls of accelerate in what gpumap prints, its remarks, and the plan."""
    text = subprocess.run([gpumap, "emit", "accelerate", *options], capture_output=True, text=True, check=True)
    ran = subprocess.run(["sh", "-c", text.stdout], stdout=subprocess.PIPE, text=True, check=True,
                         env={"PATH": os.getcwd() + "/bin:" + os.environ["PATH"]})
    plan = subprocess.run([gpumap, "plan", "--json", *options], capture_output=True, text=True, check=True)
    return list(recorded(ran.stdout)), text.stderr, json.loads(plan.stdout)


def compare(gpumap, inventory, seed, count):
    rng = random.Random(int(seed))
    os.mkdir("bin")
    with open("bin/accelerate", "w", opener=lambda path, flags: os.open(path, flags, 0o755), encoding="utf-8") as file:
        file.write(RECORD)
    cases = []
    for _ in range(int(count)):
        options = draw_options(rng, inventory, 4)
        cases.append((options, *emitted(gpumap, options), draw_settings(rng, 4)))
    lines = "".join(json.dumps([call, settings]) + "\n" for _, calls, *_, settings in cases for call in calls)
    ran = subprocess.run([sys.executable, __file__, "read"], input=lines, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(ran.stderr)
    starts = iter(ran.stdout.splitlines())
    said = differ = 0
    for options, calls, remarks, plan, settings in cases:
        why = differs(gpumap, inventory, plan, [json.loads(next(starts)) for _ in calls])
        if len(calls) != len(plan["hosts"]):
            why = f"{len(calls)} commands", None
        if why and why[1] and why[1] in remarks:
            said += 1
        elif why:
            differ += 1
            print(f"{options}: {why[0]}\nwith {settings!r}")
    print(f"{count} plans, {said} as a remark says, {differ} differ")
    return differ > 0


if __name__ == "__main__":
    if sys.argv[1] == "read":
        read()
    else:
        sys.exit(compare(*sys.argv[1:5]))
