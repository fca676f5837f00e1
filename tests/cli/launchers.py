# SPDX-License-Identifier: MIT
"""gpumap --launcher gives what the launcher itself does, for lists that are drawn.
usage: launchers.py LAUNCHER GPUMAP INVENTORY SEED COUNT"""
# pylint: disable=import-outside-toplevel,protected-access
import contextlib
import importlib.util
import json
import os
import random
import subprocess
import sys
import types

NUMBERS = "0 1 2 3".split()
ODD = ["", " 0", "2\t",
       *"4 00 002 +1 -1 -0 1_0 1__0 _1 1gpu 0x1 1:2 0@1 - x all none NoDevFiles GPU- \u0662 \u00b2".split()]
# Variables that a case sets, or that launchers set.
CLEARED = ("CUDA_VISIBLE_DEVICES RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO "
           "RANK LOCAL_RANK WORLD_SIZE MASTER_ADDR MASTER_PORT").split()


class Started(Exception):
    """What a launcher would start, in place of the start."""

    def __init__(self, cmd, env):
        super().__init__(cmd)
        self.cmd, self.env = cmd, env


def start(cmd, env=None, **_):
    raise Started(cmd, dict(env or os.environ))


def draw_list(rng, uuids, unset=0.15):
    """Lists that name GPUs by number or UUID, lists with entries of all kinds, or no list."""
    if rng.random() < unset:
        return None
    whole = rng.choice((NUMBERS, NUMBERS, uuids, NUMBERS + [u[:12] for u in uuids]))
    if rng.random() < 0.6:
        return ",".join(rng.sample(whole, rng.randint(1, 4)))
    return ",".join(rng.choice(rng.choice((ODD, whole))) for _ in range(rng.randint(1, 4)))


@contextlib.contextmanager
def environment(**variables):
    """As with these variables alone; None is unset."""
    before = os.environ.copy()
    for name in CLEARED:
        os.environ.pop(name, None)
    os.environ.update({name: value for name, value in variables.items() if value is not None})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def prefix(text):
    return [] if text is None else ["--prefix=" + text]


# --- launchers -------------------------------------------------------------------------------
# Each gives a function from random numbers and UUIDs to a case. A case has `asked` (options of gpumap) and `left` (the
# list of the process that is started, None if it has none), or `refused`. `device` is the device that the process then
# uses, and `slots` numbers the devices of the list before that it is given.

def ray():
    import ray.runtime_context as contexts
    import ray._private.worker as workers
    from ray._private import ray_constants, utils
    from ray._private.resource_and_label_spec import ResourceAndLabelSpec

    def case(rng, uuids):
        node = draw_list(rng, uuids)
        flags = {name: rng.choice((None, None, "0", "1"))
                 for name in ("RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO")}
        with environment(CUDA_VISIBLE_DEVICES=node, **flags):
            count = ResourceAndLabelSpec._get_current_node_accelerator(None, {})[1]
            slots = rng.sample(range(count), min(count, rng.randrange(3)))
            held = {"CPU": [(0, 1.0)]}
            if slots:
                held[rng.choice(("GPU", "GPU_group_5eed"))] = [(slot, rng.choice((1.0, 0.5))) for slot in slots]
            worker = workers.Worker()
            worker.core_worker = types.SimpleNamespace(resource_ids=lambda: held)
            worker.set_is_connected(True)
            workers.global_worker, contexts._runtime_context = worker, None
            ids = [str(one) for one in worker.get_accelerator_ids_for_accelerator_resource(
                ray_constants.GPU, f"^{ray_constants.GPU}_group_[0-9A-Za-z]+$")]
            utils.set_visible_accelerator_ids()
            left = os.environ.get("CUDA_VISIBLE_DEVICES")
            worker.set_is_connected(False)
        kept = flags["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"] == "1"
        empties = flags["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] == "1"
        word = "ray" if kept or not (ids or empties) else "ray:" + ",".join(ids)
        return {"asked": ["--launcher=" + word, *prefix(node)], "left": left, "node": node,
                "slots": slots if slots and not kept else None}

    return case


def accelerate():
    # torch.cuda is there without a GPU, and the settings of the user are not.
    os.environ.update(PYTORCH_NVML_BASED_CUDA_CHECK="1", HF_HOME="nowhere")
    import accelerate
    import torch
    from accelerate.commands import launch
    from torch.distributed import run as torchrun
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torchrun.run = launch.subprocess.Popen = start
    torch.cuda.set_device = lambda device: None
    parser = launch.launch_command_parser()

    def device(env, ranks, rank):
        """The number of the device that accelerate takes in such a rank, None: the CPU."""
        with environment(**env):
            if ranks > 1:
                os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks))
                torch.distributed.init_process_group("fake", store=FakeStore(), rank=rank, world_size=ranks)
            try:
                accelerate.PartialState._reset_state()
                taken = accelerate.PartialState().device
            finally:
                if ranks > 1:
                    torch.distributed.destroy_process_group()
        return (taken.index or 0) if taken.type == "cuda" else None

    def case(rng, uuids):
        before, ids = draw_list(rng, uuids), rng.choice((None, "all", draw_list(rng, uuids, 0)))
        ranks = rng.randint(1, 6)
        rank = rng.randrange(ranks)
        words = ["--multi_gpu"] if ranks > 1 else []
        words += [f"--num_processes={ranks}", "--num_machines=1"] + ([] if ids is None else ["--gpu_ids=" + ids])
        with environment(CUDA_VISIBLE_DEVICES=before):
            try:
                launch.launch_command(parser.parse_args([*words, "train.py"]))
            except Started as job:
                env = job.env
        asked = ["--launcher=accelerate" + ("" if ids is None else ":" + ids), *prefix(before), "--dialect=torch",
                 f"--local-rank={rank}", "--device=cuda:local-modulo"]
        try:
            return {"asked": asked, "left": env.get("CUDA_VISIBLE_DEVICES"), "device": device(env, ranks, rank)}
        except ValueError:  # PyTorch cannot read the list
            return {"asked": asked, "left": ""}

    return case


def deepspeed():
    os.environ["DS_ACCELERATOR"] = "cuda"
    from deepspeed.launcher import launch, runner

    runner.subprocess.Popen = launch.subprocess.Popen = start

    def case(rng, uuids):
        before, ids = draw_list(rng, uuids), rng.choice((None, None, draw_list(rng, uuids, 0)))
        asked = ["--launcher=deepspeed" + ("" if ids is None else ":" + ids), *prefix(before)]
        words = ["--hostfile=none", "--log_level=error"] + ([] if ids is None else ["--include=localhost:" + ids])
        with environment(CUDA_VISIBLE_DEVICES=before):
            try:
                runner.main([*words, "train.py"])
            except Started as job:
                cmd, os.environ["CUDA_VISIBLE_DEVICES"] = job.cmd, job.env.get("CUDA_VISIBLE_DEVICES", "")
            except (ValueError, RuntimeError) as why:
                return {"asked": asked, "refused": str(why)}
            sys.argv = cmd[cmd.index("deepspeed.launcher.launch"):]
            try:
                launch.main()
            except Started as job:
                return {"asked": asked, "left": job.env["CUDA_VISIBLE_DEVICES"]}

    return case


def dask_cuda():
    # Its package opens the driver.
    spec = importlib.util.spec_from_file_location(
        "dask_cuda_utils", os.path.join(os.path.dirname(importlib.util.find_spec("dask_cuda").origin), "utils.py"))
    utils = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(utils)

    def case(rng, uuids):
        before = draw_list(rng, uuids)
        with environment(CUDA_VISIBLE_DEVICES=before):
            worker = rng.randrange(utils.get_n_gpus())  # so many workers are there
        asked = ["--launcher=dask", *prefix(before), f"--local-rank={worker}"]
        with environment(CUDA_VISIBLE_DEVICES=before):
            try:
                return {"asked": asked, "left": utils.cuda_visible_devices(worker)}
            except ValueError as why:
                return {"asked": asked, "refused": str(why)}

    return case


LAUNCHERS = {"ray": ray, "accelerate": accelerate, "deepspeed": deepspeed, "dask-cuda": dask_cuda}


def read(launcher, uuids, seed, count):
    """Prints the cases; runs under gpumap pretend, because launchers count GPUs."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # launchers print
    case, rng = LAUNCHERS[launcher](), random.Random(int(seed))
    json.dump([case(rng, uuids.split(",")) for _ in range(int(count))], answers)
    answers.close()


# --- the comparison ----------------------------------------------------------------------------

def ask(gpumap, inventory, options):
    ran = subprocess.run([gpumap, "--inventory", inventory, "--format", "json", *options],
                         capture_output=True, text=True, check=False)
    said = json.loads(ran.stdout)
    chosen = said["chosen"] and said["chosen"]["uuid"]
    return [device["uuid"] for device in said["visible"]], chosen, {f["id"] for f in said["findings"]}


def differs(gpumap, inventory, case):
    """Why gpumap and the launcher differ, or None; and whether the case has devices."""
    def shows(text, *options):
        return ask(gpumap, inventory, ([] if text is None else ["--visible=" + text]) + list(options))[0]

    visible, chosen, findings = ask(gpumap, inventory, case["asked"])
    if "refused" in case:
        return (None if "GM046" in findings else f"refused with {case['refused']!r}"), False
    dialect = [option for option in case["asked"] if option.startswith("--dialect")]
    want = shows(case["left"], *dialect)
    if "GM046" in findings or visible != want:
        return f"left {case['left']!r}, which shows {want}, not {visible}", bool(want)
    if "device" in case and chosen != (None if case["device"] is None else want[case["device"]]):
        return f"device {case['device']} of {want}, not {chosen}", True
    if case.get("slots") is not None:
        node, entries = shows(case["node"]), (case["node"] or "").split(",")
        if case["node"] is None or len(node) == len(entries):
            if {node[slot] for slot in case["slots"]} != set(visible):
                return f"slots {case['slots']} of {node}, not {visible}", True
    return None, bool(want)


def compare(launcher, gpumap, inventory, seed, count):
    listed = subprocess.run([gpumap, "inventory", "--inventory", inventory, "--json"], capture_output=True, check=True)
    uuids = ",".join(gpu["uuid"] for gpu in json.loads(listed.stdout)["gpus"])
    program = [sys.executable, __file__, "read", launcher, uuids, seed, count]
    ran = subprocess.run([gpumap, "pretend", "--inventory", inventory, "--", *program],
                         capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(ran.stderr)
    differ = filled = 0
    for case in json.loads(ran.stdout):
        why, has = differs(gpumap, inventory, case)
        filled += has
        if why:
            differ += 1
            print(f"{case['asked']}: {launcher} {why}")
    print(f"{count} lists, {filled} with devices, {differ} differ")
    return differ > 0


if __name__ == "__main__":
    if sys.argv[1] == "read":
        read(*sys.argv[2:6])
    else:
        sys.exit(compare(*sys.argv[1:6]))
