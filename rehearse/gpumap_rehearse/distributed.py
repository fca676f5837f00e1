# SPDX-License-Identifier: MIT
"""torch.distributed: "nccl" is gloo, and which collective waits where. groups.py has what a group does."""
import functools
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from . import devices, groups, hooks, record, tags

# Those in which a rank may wait for others, in one version or another.
_COLLECTIVES = (
    "all_reduce all_reduce_coalesced broadcast reduce reduce_scatter reduce_scatter_tensor reduce_scatter_single "
    "all_gather all_gather_into_tensor all_gather_single gather gather_single scatter all_to_all all_to_all_single send "
    "recv barrier"
).split()
# Seconds before a group is destroyed. A thread of gloo that frees the tensors of its last collective waits for Python's
# lock, which the one that waits for the end of the thread holds: without the time to get it, both wait for ever.
_REST = 0.1


def _meeting_place():
    """ADDRESS:PORT of env://, which a launcher gives; None: it is not set."""
    address, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT")
    return "%s:%s" % (address, port) if address and port else None


_given_place = _meeting_place()


def _wanted(kwargs, name, variable):
    """An argument of init_process_group, which a variable may give; -1: neither does."""
    value = kwargs.get(name)
    if value is None or value == -1:
        value = os.environ.get(variable, "-1")
    try:
        return int(value)
    except ValueError:
        return -1


def _backend(name):
    """gloo, where the program asks for NCCL."""
    text = "gloo" if name is None else str(name).lower()
    return "gloo" if "nccl" in text else name


def _flat(value):
    """Gloo compares shapes where NCCL takes bytes."""
    return value.view(-1) if isinstance(value, torch.Tensor) else value


def _wrap(name, function):
    @functools.wraps(function)
    def collective(*args, **kwargs):
        if name.startswith("all_gather_") and groups.is_nccl(kwargs.get("group")):
            args, kwargs = [_flat(value) for value in args], {key: _flat(value) for key, value in kwargs.items()}
        groups.enter(name)
        result = function(*args, **kwargs)
        groups.leave()
        return result

    return collective


def _install_groups():
    raw_init, raw_new, raw_get = c10d.init_process_group, c10d.new_group, c10d.get_backend
    raw_destroy = c10d.destroy_process_group

    def init_process_group(backend=None, *args, **kwargs):
        groups.default = "" if backend is None else str(backend).lower()
        device = kwargs.pop("device_id", None)
        kwargs.pop("pg_options", None)
        if groups.is_nccl():
            devices.start()
            groups.take_functional()
        record.set_fact("wanted_world_size", _wanted(kwargs, "world_size", "WORLD_SIZE"))
        record.set_fact("rank", _wanted(kwargs, "rank", "RANK"))
        record.set_fact("meets_at", [_given_place, _meeting_place()])
        groups.enter("init_process_group")
        try:
            raw_init(_backend(backend), *args, **kwargs)
        except ValueError:  # of the arguments
            groups.leave()
            raise
        groups.leave()
        record.set_fact("rank", c10d.get_rank())
        record.set_fact("world_size", c10d.get_world_size())
        if device is not None and groups.is_nccl():  # NCCL starts at once
            groups.meet(c10d.GroupMember.WORLD, devices.ordinal_of(device))

    def new_group(ranks=None, timeout=None, backend=None, pg_options=None, *args, **kwargs):
        kwargs.pop("device_id", None)
        group = raw_new(ranks, timeout, None if backend is None else _backend(backend), None, *args, **kwargs)
        if backend is not None and isinstance(group, c10d.ProcessGroup):
            groups.backends[group] = str(backend).lower()
        return group

    def get_backend(group=None):
        name = raw_get(group)
        return "nccl" if groups.is_nccl(group) and name == "gloo" else name

    def destroy_process_group(group=None):
        time.sleep(_REST)
        raw_destroy(group)

    return {"init_process_group": init_process_group, "new_group": new_group, "get_backend": get_backend,
            "destroy_process_group": destroy_process_group, "is_nccl_available": lambda: True}


def _install_object_devices():
    """Objects are pickled into a tensor on the current GPU."""
    for name in "_get_object_coll_device", "_get_pg_default_device":
        full = "torch.distributed.distributed_c10d." + name
        raw = hooks.get(full)
        if raw is None:
            continue

        def device(group=None, _raw=raw):
            return torch.device("cuda", devices.current()) if groups.is_nccl(group) else _raw(group)

        hooks.replace(full, device)


def _install_parallel():
    parallel = dist_module().DistributedDataParallel
    raw_init = parallel.__init__

    def init(self, module, *args, **kwargs):
        wanted = [parameter for parameter in module.parameters() if parameter.requires_grad]
        if groups.is_nccl():
            ordinal = groups.gpu_of(wanted[:1])
            if ordinal is not None:
                groups.meet(kwargs.get("process_group") or c10d.GroupMember.WORLD, ordinal)
        ordinal = wanted[0].get_device() if wanted else -1
        with tags.calling(ordinal):
            raw_init(self, module, *args, **kwargs)
        record.say("wrapped", {"ordinal": ordinal, "place": record.place()})

    parallel.__init__ = init


def dist_module():
    from torch.nn.parallel import distributed

    return distributed


def _put(new):
    """Modules of PyTorch that are imported already have these functions by name."""
    old = {name: getattr(c10d, name) for name in new}
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("torch."):
            for name in new:
                if getattr(module, "__dict__", {}).get(name) is old[name]:
                    setattr(module, name, new[name])


def install():
    if not dist.is_available():
        return
    new = _install_groups()
    new.update({name: _wrap(name, getattr(c10d, name)) for name in _COLLECTIVES if hasattr(c10d, name)})
    _put(new)
    groups.install()
    _install_object_devices()
    _install_parallel()
    record.set_fact("host", groups.node())
