# SPDX-License-Identifier: MIT
"""torch.distributed: "nccl" is gloo, with the checks and errors of NCCL; and which collective waits where."""
import functools
import inspect
import os
import socket
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from . import devices, errors, hooks, record, tags
from .tags import without_modes

# Collective: which of its positional arguments are tensors, or lists of them.
_COLLECTIVES = {
    "all_reduce": (0,),
    "broadcast": (0,),
    "reduce": (0,),
    "all_gather": (0, 1),
    "gather": (0, 1),
    "scatter": (0, 1),
    "all_gather_into_tensor": (0, 1),
    "reduce_scatter_tensor": (0, 1),
    "all_to_all_single": (0, 1),
    "send": (0,),
    "recv": (0,),
    "barrier": (),
}
# Which positional argument is the operation.
_OPERATIONS = {"all_reduce": 1, "reduce": 2, "reduce_scatter_tensor": 2}
# Seconds before a group is destroyed. A thread of gloo that frees the tensors of its last collective waits for Python's
# lock, which the one that waits for the end of the thread holds: without the time to get it, both wait for ever.
_REST = 0.1

_nccl = False  # the program asked for it
_told_gpu = False
_inside = None  # [collective, place, time] of the one that this rank waits in, or that failed, as gloo's does if a
# rank that it waits for has ended
_entered = 0


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


def _node():
    """Which of several hosts this one stands for; None: it is the only one."""
    if "GPUMAP_REHEARSE_JOB" in os.environ:
        return os.environ.get("SLURMD_NODENAME")
    return os.environ.get("GROUP_RANK")


def _no_cpu_backend():
    errors.fail(RuntimeError, "No backend type associated with device type cpu", "collective-on-cpu")


def _tell_gpu(ordinal):
    """NCCL refuses two ranks of one GPU, at the first collective."""
    global _told_gpu
    world = c10d.get_world_size()
    if _told_gpu or world == 1:
        return
    _told_gpu = True
    store = c10d._get_default_store()
    gpu = devices.visible()[ordinal]
    mine = "%s %s %s" % (socket.gethostname(), _node(), gpu.uuid or gpu.physical)
    rank = c10d.get_rank()
    store.set("gpumap_rehearse/%d" % rank, mine)
    for other in range(world):
        if other != rank and store.get("gpumap_rehearse/%d" % other).decode() == mine:
            kind = getattr(dist, "DistBackendError", RuntimeError)
            text = ("NCCL error in: gpumap rehearse, invalid usage (run with NCCL_DEBUG=WARN for details)\n"
                    "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\n"
                    "Duplicate GPU detected : rank %d and rank %d both on CUDA device %x000")
            record.say("duplicate", {"ranks": sorted((rank, other)), "device": ordinal})
            errors.fail(kind, text % (rank, other, gpu.physical + 1), "duplicate")


def _check(tensors):
    with without_modes():
        ordinals = [(tensor, tags.ordinal_of(tensor)) for tensor in tensors]
    if any(ordinal < 0 and not tags.is_wild(tensor) for tensor, ordinal in ordinals):
        _no_cpu_backend()
    if ordinals:
        _tell_gpu(ordinals[0][1])


def _enter(name):
    global _inside, _entered
    _inside = [name, record.place(), time.time()]
    _entered += 1
    record.changed()


def _leave():
    global _inside
    _inside = None
    record.changed()


class _Ended:
    """The work of a collective that has ended already."""

    def __init__(self, tensor):
        self._tensor = tensor

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    is_success = is_completed

    def get_future(self):
        future = torch.futures.Future()
        future.set_result([self._tensor])
        return future


def _average(name, function, args, kwargs):
    """A sum that is divided: gloo has ReduceOp.AVG in newer versions only, and ignores it or fails in others."""
    given = inspect.signature(function).bind(*args, **kwargs).arguments
    given["op"] = dist.ReduceOp.SUM
    wait = not given.pop("async_op", False)
    function(**given)
    tensor = given["output" if name == "reduce_scatter_tensor" else "tensor"]
    group = given.get("group")
    here = c10d.get_rank() if given.get("group_dst") is None else c10d.get_rank(group)
    if name != "reduce" or here in (given.get("dst"), given.get("group_dst")):
        ranks = c10d.get_world_size(group)
        whole = not (tensor.is_floating_point() or tensor.is_complex())
        with torch.no_grad():
            tensor.div_(ranks, rounding_mode="trunc" if whole else None)
    return None if wait else _Ended(tensor)


def _flat(args, kwargs):
    """Gloo compares shapes where NCCL takes bytes."""
    args = [value.view(-1) if isinstance(value, torch.Tensor) else value for value in args]
    return args, {key: value.view(-1) if isinstance(value, torch.Tensor) else value for key, value in kwargs.items()}


def _wrap(name, function, positions):
    @functools.wraps(function)
    def collective(*args, **kwargs):
        if _nccl:
            _check(tags.tensors_in([args[i] for i in positions if i < len(args)],
                                   {key: value for key, value in kwargs.items() if key != "group"}))
            kwargs.pop("device_ids", None)
            if name in ("all_gather_into_tensor", "reduce_scatter_tensor"):
                args, kwargs = _flat(args, kwargs)
        _enter(name)
        at = _OPERATIONS.get(name)
        if _nccl and at and kwargs.get("op", args[at] if len(args) > at else None) == dist.ReduceOp.AVG:
            result = _average(name, function, args, kwargs)
        else:
            result = function(*args, **kwargs)
        _leave()
        return result

    return collective


def _install_groups():
    raw_init, raw_new, raw_get = c10d.init_process_group, c10d.new_group, c10d.get_backend
    raw_destroy = c10d.destroy_process_group

    def init_process_group(backend=None, *args, **kwargs):
        global _nccl
        _nccl = backend is None or "nccl" in str(backend).lower()
        kwargs.pop("device_id", None)
        kwargs.pop("pg_options", None)
        if _nccl:
            devices.start()
        record.set_fact("wanted_world_size", _wanted(kwargs, "world_size", "WORLD_SIZE"))
        record.set_fact("rank", _wanted(kwargs, "rank", "RANK"))
        record.set_fact("meets_at", [_given_place, _meeting_place()])
        _enter("init_process_group")
        try:
            raw_init(_backend(backend), *args, **kwargs)
        except ValueError:  # of the arguments
            _leave()
            raise
        _leave()
        record.set_fact("rank", c10d.get_rank())
        record.set_fact("world_size", c10d.get_world_size())

    def new_group(ranks=None, timeout=None, backend=None, pg_options=None, *args, **kwargs):
        kwargs.pop("device_id", None)
        return raw_new(ranks, timeout, None if backend is None else _backend(backend), None, *args, **kwargs)

    def get_backend(group=None):
        name = raw_get(group)
        return "nccl" if _nccl and name == "gloo" else name

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
            return torch.device("cuda", devices.current()) if _nccl else _raw(group)

        hooks.replace(full, device)


def _install_parallel():
    parallel = dist_module().DistributedDataParallel
    raw_init = parallel.__init__

    def init(self, module, *args, **kwargs):
        wanted = [parameter for parameter in module.parameters() if parameter.requires_grad]
        if _nccl:
            _check(wanted[:1])
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
    for name, positions in _COLLECTIVES.items():
        new[name] = _wrap(name, getattr(c10d, name), positions)
    _put(new)
    _install_object_devices()
    _install_parallel()
    record.add_source("waiting", lambda: _inside and {"in": _inside[0], "place": _inside[1], "since": _inside[2]})
    record.add_source("collectives", lambda: _entered)
    record.set_fact("host", _node())
