# SPDX-License-Identifier: MIT
"""A process group of "nccl", which is gloo: the checks and errors of NCCL, and its numbers where gloo has others or none.

Those are made of gloo's all_reduce, gather and all_to_all_single. The work has ended when the call returns.
"""
import functools
import os
import socket
import time
import weakref

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from . import devices, errors, hooks, modes, record, tags
from .tags import without_modes

_METHODS = (  # each version has some of them
    "allreduce allreduce_coalesced reduce reduce_scatter _reduce_scatter_base reduce_scatter_single "
    "reduce_scatter_tensor_coalesced reduce_scatter_single_coalesced broadcast allgather _allgather_base "
    "allgather_coalesced allgather_into_tensor_coalesced all_gather_single all_gather_single_coalesced gather "
    "gather_single gather_into_tensor scatter alltoall alltoall_base all_to_all_single send recv barrier"
).split()
_raw = {name: getattr(dist.ProcessGroup, name) for name in _METHODS if hasattr(dist.ProcessGroup, name)}
_below_modes = hooks.get("torch._C._DisableTorchDispatch")
_SUM, _MIN, _MAX, _PRODUCT = dist.ReduceOp.SUM, dist.ReduceOp.MIN, dist.ReduceOp.MAX, dist.ReduceOp.PRODUCT
_AVG, _PREMUL = dist.ReduceOp.AVG, dist.ReduceOp.PREMUL_SUM
_PLAIN = (_SUM, _MIN, _MAX, _PRODUCT)
_OF_BOOLS = {_SUM: _MAX, _MIN: _MIN, _MAX: _MAX, _PRODUCT: _MIN}

backends = weakref.WeakKeyDictionary()  # group: what the program asked for
default = "gloo"  # that of the others
_met = {}  # "" or "barrier/", for which NCCL chooses the GPU: {rank: the GPU of this one, None for others that are met}
_inside = None  # [collective, place, time] of the one that this rank waits in, or that failed, as gloo's does if a
# rank that it waits for has ended
_entered = 0
_open = None  # the works of a block of calls that NCCL would start together


def enter(name):
    global _inside, _entered
    _inside = [name, record.place(), time.time()]
    _entered += 1
    record.changed()


def leave(entered=True):
    global _inside, _entered
    _entered -= not entered and _inside is not None
    _inside = None
    record.changed()


def backend_of(group):
    return default if group is None else backends.get(group, default)


def is_nccl(group=None):
    """Whether the program asked for it; without a name, it is that of GPUs."""
    backend = backend_of(group)
    return not backend or "nccl" in backend


# --- NCCL's checks -----------------------------------------------------------------------


def node():
    """Which of several hosts this one stands for; None: it is the only one."""
    if "GPUMAP_REHEARSE_JOB" in os.environ:
        return os.environ.get("SLURMD_NODENAME")
    return os.environ.get("GROUP_RANK")


def _mine(ordinal):
    gpu = devices.visible()[ordinal]
    return "%s %s %s" % (socket.gethostname(), node(), gpu.uuid or gpu.physical)


def _tell(ordinal, what):
    """Once, the GPU of this rank. Returns what is known of the others."""
    known = _met.setdefault(what, {})
    if not known:
        rank = c10d.get_rank()
        known[rank] = ordinal
        c10d._get_default_store().set("gpumap_rehearse/%s%d" % (what, rank), _mine(ordinal))
    return known


def meet(group, ordinal, ranks=None, what=""):
    """NCCL refuses two ranks of one GPU, when they first meet: in a collective, or as the two of a message."""
    known, rank, store = _tell(ordinal, what), c10d.get_rank(), c10d._get_default_store()
    for other in sorted(set(ranks or c10d.get_process_group_ranks(group)).difference(known)):
        known[other] = None
        if store.get("gpumap_rehearse/%s%d" % (what, other)).decode() == _mine(ordinal):
            kind = getattr(dist, "DistBackendError", RuntimeError)
            text = ("NCCL error in: gpumap rehearse, invalid usage (run with NCCL_DEBUG=WARN for details)\n"
                    "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\n"
                    "Duplicate GPU detected : rank %d and rank %d both on CUDA device %x000")
            record.say("duplicate", {"ranks": sorted((rank, other)), "device": ordinal})
            errors.fail(kind, text % (rank, other, devices.visible()[ordinal].physical + 1), "duplicate")


def gpu_of(tensors, group=None):
    """Where they are; None: on the CPU, for which the group has a backend as well."""
    with without_modes():
        ordinals = [tags.ordinal_of(tensor) for tensor in tensors if not tags.is_wild(tensor)]
    if min(ordinals, default=0) >= 0:
        return ordinals[0] if ordinals else devices.current()
    backend = backend_of(group)
    if backend and "cpu" not in backend:
        errors.fail(RuntimeError, "No backend type associated with device type cpu", "collective-on-cpu")
    return None


def _gpu_of_barrier(given):
    """NCCL does not ask which one is current, but takes the one that it has used, or guesses."""
    wanted = [ordinal for options in given for ordinal in getattr(options, "device_ids", ())]
    rank = c10d.get_rank()
    return (wanted or [_met[""][rank] if "" in _met else rank % devices.count()])[0]


def _barrier(group, given, run):
    """A rank of which others wait to hear may never come, so they compare behind it."""
    ordinal = _gpu_of_barrier(given)
    known = _tell(ordinal, "barrier/")
    work = run()
    if not known.keys() >= set(c10d.get_process_group_ranks(group)):
        work.wait()
        meet(group, ordinal, what="barrier/")
    return work


def _check(name, group, given):
    """The GPU that the call is for, or None."""
    ordinal = gpu_of(tags.tensors_in(given, None), group)
    if ordinal is not None:
        meet(group, ordinal, [c10d.get_global_rank(group, given[1])] if name in ("send", "recv") else None)
    return ordinal


# --- NCCL's numbers ----------------------------------------------------------------------


class Ended:
    """The work of a collective: of others, or ended already."""

    def __init__(self, tensors, works=()):
        self._tensors = tensors
        self._works = works

    def wait(self, timeout=None):
        return all([work.wait() for work in self._works])

    def is_completed(self):
        return all(work.is_completed() for work in self._works)

    is_success = is_completed

    def get_future(self):
        future = torch.futures.Future()
        future.set_result(self._tensors)
        return future


def _listed(value):
    return [value] if isinstance(value, torch.Tensor) else value


def _operation(given):
    """Of the options of a call, or by itself: the operation, and the factor of PREMUL_SUM."""
    for value in given:
        value = getattr(value, "reduceOp", value)
        if isinstance(value, dist.ReduceOp):
            kind, factor = (value, None) if isinstance(value, dist.ReduceOp.RedOpType) else value.__getstate__()
            if kind != _PREMUL and kind not in (*_PLAIN, _AVG):
                raise ValueError("Cannot use ReduceOp.%s with NCCL" % kind.name)
            return kind, factor
    return _SUM, None


def _combine(group, tensor, operation):
    """all_reduce of a tensor in place."""
    kind, factor = operation
    if tensor.dtype == torch.bool:
        if kind not in _OF_BOOLS:
            raise TypeError("Cannot use ReduceOp.AVG with boolean inputs")
        tensor, kind = tensor.view(torch.uint8), _OF_BOOLS[kind]
    later = kind == _AVG and not (tensor.is_floating_point() or tensor.is_complex())
    if kind == _AVG and not later:
        factor = 1 / group.size()
    if factor is not None:
        tensor.mul_(factor)
    options = dist.AllreduceOptions()
    options.reduceOp = kind if kind in _PLAIN else _SUM
    _raw["allreduce"](group, [tensor], options).wait()
    if later:
        tensor.div_(group.size(), rounding_mode="trunc")


def _all_reduce(group, tensors, *given):
    for tensor in _listed(tensors):
        _combine(group, tensor, _operation(given))


def _reduce(group, tensors, *given):
    """Only the root gets it."""
    root = given[0] if isinstance(given[0], int) else given[0].rootRank
    for tensor in _listed(tensors):
        total = tensor.clone()
        _combine(group, total, _operation(given))
        if group.rank() == root:
            tensor.copy_(total)


def _scatter(group, output, parts, operation):
    if output.dtype != parts[0].dtype:
        raise TypeError("output tensor must have the same type as input tensor")
    total = torch.cat([part.reshape(-1) for part in parts])
    _combine(group, total, operation)
    output.view(-1).copy_(total.split([part.numel() for part in parts])[group.rank()])


def _reduce_scatter(group, outputs, inputs, *given):
    for output, parts in zip(_listed(outputs), [inputs] if isinstance(outputs, torch.Tensor) else inputs):
        _scatter(group, output, parts, _operation(given))


def _reduce_scatter_tensors(group, outputs, inputs, *given):
    for output, whole in zip(_listed(outputs), _listed(inputs)):
        if whole.numel() != output.numel() * group.size():
            raise ValueError("input tensor must be the same size as output size times world size")
        _scatter(group, output, whole.reshape(group.size(), -1), _operation(given))


def _all_to_all(group, outputs, inputs, *options):
    sizes = [[tensor.numel() for tensor in tensors] for tensors in (outputs, inputs)]
    whole = torch.cat([tensor.reshape(-1) for tensor in inputs])
    got = whole.new_empty(sum(sizes[0]))
    _raw["alltoall_base"](group, got, whole, *sizes).wait()
    for output, part in zip(outputs, got.split(sizes[0])):
        output.copy_(part.view_as(output))


def _gather(group, output, tensor, options):
    parts = [list(output.view(-1).chunk(group.size()))] if group.rank() == options.rootRank else []
    _raw["gather"](group, parts, [tensor.reshape(-1)], options).wait()


_OURS = {
    "allreduce": _all_reduce,
    "allreduce_coalesced": _all_reduce,
    "reduce": _reduce,
    "reduce_scatter": _reduce_scatter,
    "_reduce_scatter_base": _reduce_scatter_tensors,
    "reduce_scatter_single": _reduce_scatter_tensors,
    "reduce_scatter_tensor_coalesced": _reduce_scatter_tensors,
    "reduce_scatter_single_coalesced": _reduce_scatter_tensors,
    "alltoall": _all_to_all,
    "gather_single": _gather,
    "gather_into_tensor": _gather,
}


def _is_of_gloo(name, given):
    """Whether gloo does it as NCCL does."""
    if name not in _OURS:
        return True
    tensors = tags.tensors_in(given, None)
    return name == "allreduce" and _operation(given)[0] in _PLAIN and all(t.dtype != torch.bool for t in tensors)


def _wrap(name):
    raw = _raw[name]

    @functools.wraps(raw)
    def method(group, *args, **kwargs):
        given = (*args, *kwargs.values())
        if not is_nccl(group):
            return raw(group, *args, **kwargs)
        if name == "barrier":
            return _barrier(group, given, lambda: raw(group, *args, **kwargs))
        try:
            on_cpu = _check(name, group, given) is None
        except Exception:
            leave(False)
            raise
        if on_cpu or _is_of_gloo(name, given):
            work = raw(group, *args, **kwargs)
            if _open is not None and work is not None:
                _open.append(work)
            return work
        with without_modes(), _below_modes(), torch.no_grad():
            _OURS[name](group, *given)
        return Ended(_listed(given[0]))

    return method


def _start_block(group, device):
    global _open
    _open = []


def _end_block(group, device):
    global _open
    works, _open = _open, None
    return Ended([], works)


# --- functional collectives --------------------------------------------------------------


def _copied(tensors):
    return tensors.clone() if isinstance(tensors, torch.Tensor) else [tensor.clone() for tensor in tensors]


def _reduced(tensors, operation, group):
    _all_reduce(group, tensors, operation)
    return tensors


def _scattered(tensors, operation, group, out=None):
    outputs = [out] if out is not None else [tensor.new_empty((tensor.shape[0] // group.size(), *tensor.shape[1:]))
                                             for tensor in _listed(tensors)]
    _reduce_scatter_tensors(group, outputs, tensors, operation)
    return outputs[0] if isinstance(tensors, torch.Tensor) else outputs


def _reduced_copy(tensors, operation, group):
    return _reduced(_copied(tensors), operation, group)


_FUNCTIONAL = {
    "all_reduce": _reduced_copy,
    "all_reduce_": _reduced,
    "all_reduce_coalesced": _reduced_copy,
    "all_reduce_coalesced_": _reduced,
    "reduce_scatter_tensor": _scattered,
    "reduce_scatter_tensor_out": _scattered,
    "reduce_scatter_tensor_coalesced": _scattered,
}
_GLOO_HAS = ("broadcast broadcast_ all_gather_into_tensor all_gather_into_tensor_out all_gather_into_tensor_coalesced "
             "all_to_all_single").split()
_library = []  # its kernels last as long as it


def _resolved(group):
    return c10d._resolve_process_group(group) if isinstance(group, str) else dist.ProcessGroup.unbox(group)


def _kernel(ours):
    """For tensors on the CPU, before the one for all devices."""

    def kernel(tensors, operation, *given, **kwargs):
        operation = getattr(dist.ReduceOp, operation.upper()) if isinstance(operation, str) else \
            dist.ReduceOp.unbox(operation)
        with torch.no_grad():
            return ours(tensors, operation, _resolved(given[-1]), **kwargs)

    return kernel


def _check_functional(function, args, kwargs):
    group = _resolved(args[-1])
    if is_nccl(group):
        ordinal = gpu_of(_listed(args[0]), group)
        if ordinal is not None:
            meet(group, ordinal)
    return modes.call(function, args, kwargs)


def take_functional():
    """Functional collectives, which DTensor uses, call a group beneath Python: in a kernel of each."""
    if _library:
        return
    _library.append(torch.library.Library("_c10d_functional", "IMPL"))
    for name in (*_FUNCTIONAL, *_GLOO_HAS):
        function = getattr(torch.ops._c10d_functional, name, None)
        if function is None:
            continue
        modes.own_rules[function] = modes.own_rules[function.default] = _check_functional
        if name in _FUNCTIONAL:
            _library[0].impl(name, _kernel(_FUNCTIONAL[name]), "CPU")


def install():
    for name in _raw:
        hooks.replace("torch._C._distributed_c10d.ProcessGroup." + name, _wrap(name))
    hooks.replace("torch._C._distributed_c10d.ProcessGroup._start_coalescing", _start_block)
    hooks.replace("torch._C._distributed_c10d.ProcessGroup._end_coalescing", _end_block)
    record.add_source("waiting", lambda: _inside and {"in": _inside[0], "place": _inside[1], "since": _inside[2]})
    record.add_source("collectives", lambda: _entered)
