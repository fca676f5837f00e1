# SPDX-License-Identifier: MIT
"""Each collective of two ranks with each ReduceOp and type that NCCL has, and what it should be. Under a launcher."""
import os
import sys
from functools import partial, reduce

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.distributed.nn.functional as with_gradients
from torch.distributed import distributed_c10d as c10d

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
group = dist.group.WORLD
found = {"right": 0, "refused": 0, "wrong": 0}

OPERATIONS = {
    "sum": (dist.ReduceOp.SUM, lambda a, b: a + b),
    "product": (dist.ReduceOp.PRODUCT, lambda a, b: a * b),
    "min": (dist.ReduceOp.MIN, torch.minimum),
    "max": (dist.ReduceOp.MAX, torch.maximum),
    "avg": (dist.ReduceOp.AVG, lambda a, b: (a + b) / 2),
    "premul": (dist._make_nccl_premul_sum(0.25), lambda a, b: a / 4 + b / 4),
}
TYPES = torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool


def given(of, kind, size=4):
    numbers = torch.arange(1 + of, size + 1 + of) % 2 if kind == torch.bool else torch.arange(3 * of, size + 3 * of) + 1
    return numbers.to(kind)


def here(kind=torch.float32, size=4):
    return given(rank, kind, size).cuda()


def combined(name, kind, size=4):
    tensors = [given(of, kind, size).to(torch.float64) for of in (0, 1)]
    result = reduce(OPERATIONS[name][1], tensors)
    return result.to(torch.int64).to(kind) if kind == torch.int64 else result.to(kind)


def say(words):
    sys.stdout.write("rank %d: %s\n" % (rank, words))
    sys.stdout.flush()


def flat(value):
    """The tensors of a result, which all have to be on the GPU of this rank."""
    if isinstance(value, torch.Tensor):
        value = functional.wait_tensor(value) if isinstance(value, functional.AsyncCollectiveTensor) else value
        assert value.get_device() == rank, value.device
        return [value.detach().cpu()]
    return [tensor for each in value for tensor in flat(each)]


def attempt(words, call, *expected):
    try:
        made = flat(call())
        same = len(made) == len(expected) and all(
            a.dtype == b.dtype and torch.equal(a, b) for a, b in zip(made, expected))
        what, words = "right" if same else "wrong", words if same else "%s: %s" % (words, made)
    except Exception as error:
        text = "%s: %s" % (type(error).__name__, str(error).split("\n")[0])
        what, words = "refused" if "gpumap rehearse: " in text else "wrong", "%s: %s" % (words, text)
    found[what] += 1
    if what != "right":
        say("%s %s" % (what, words))


def in_place(function, *args, kind=torch.float32, many=False, **kwargs):
    tensor = here(kind)
    work = function([tensor] if many else tensor, *args, **kwargs)
    if work is not None and kwargs.get("async_op"):
        work.wait()
    return tensor


def scattered(function, op, kind, many=False, **kwargs):
    """What it got, and what it was given, which has to stay as it was."""
    output, tensor = torch.zeros(2, dtype=kind, device="cuda"), here(kind)
    work = function(output, list(tensor.chunk(2)) if many else tensor, op, **kwargs)
    if work is not None and kwargs.get("async_op"):
        work.wait()
    return output, tensor


def of_parameter():
    parameter = torch.nn.Parameter(here())
    dist.all_reduce(parameter, dist.ReduceOp.AVG)
    return parameter


def future_of(op):
    tensor = here()
    work = dist.all_reduce(tensor, op, None, True)
    return work.get_future().wait(), work.wait() and work.is_completed() and tensor


def coalesced(function, op, kind):
    tensors, outputs = [here(kind), here(kind)], [torch.zeros(2, dtype=kind, device="cuda") for _ in range(2)]
    with c10d._coalescing_manager():
        for tensor, output in zip(tensors, outputs):
            function(tensor, op) if function is dist.all_reduce else function(output, tensor, op)
    return tensors if function is dist.all_reduce else outputs


def of_group(method, tensors, op, options):
    options.reduceOp = op
    getattr(group, method)(*tensors, options).wait()
    return tensors[0]


def reductions(name, op, kind):
    whole, mine = combined(name, kind), combined(name, kind).chunk(2)[rank]
    same = given(rank, kind)
    words = "%s %s" % (name, str(kind).split(".")[1])
    attempt("all_reduce " + words, lambda: in_place(dist.all_reduce, op, kind=kind), whole)
    attempt("reduce " + words, lambda: in_place(dist.reduce, 1, op, kind=kind), whole if rank == 1 else same)
    attempt("all_reduce_coalesced " + words,
            lambda: in_place(dist.all_reduce_coalesced, op, kind=kind, many=True), whole)
    attempt("reduce_scatter " + words, lambda: scattered(dist.reduce_scatter, op, kind, True), mine, same)
    for scatter in "reduce_scatter_tensor", "_reduce_scatter_base", "reduce_scatter_single":
        if hasattr(c10d, scatter):
            attempt("%s %s" % (scatter, words), lambda: scattered(getattr(c10d, scatter), op, kind), mine, same)
    attempt("coalesced all_reduce " + words, lambda: coalesced(dist.all_reduce, op, kind), whole, whole)
    attempt("coalesced reduce_scatter_tensor " + words,
            lambda: coalesced(dist.reduce_scatter_tensor, op, kind), mine, mine)
    attempt("group.allreduce " + words,
            lambda: of_group("allreduce", ([here(kind)],), op, dist.AllreduceOptions()), whole)
    if name == "premul":
        return
    attempt("functional.all_reduce " + words, lambda: functional.all_reduce(here(kind), name, group), whole)
    attempt("functional.all_reduce_coalesced " + words,
            lambda: functional.all_reduce_coalesced([here(kind)], name, group), whole)
    attempt("functional.reduce_scatter_tensor " + words,
            lambda: functional.reduce_scatter_tensor(here(kind), name, 0, group), mine)
    attempt("functional.reduce_scatter_tensor_coalesced " + words,
            lambda: functional.reduce_scatter_tensor_coalesced([here(kind)], name, [0], group), mine)
    if kind == torch.float32:
        attempt("functional.all_reduce_inplace " + words,
                lambda: functional.all_reduce_inplace(here(), name, group), whole)
        attempt("torch.distributed.nn.all_reduce " + words, lambda: with_gradients.all_reduce(here(), op), whole)
        attempt("torch.distributed.nn.reduce_scatter " + words, lambda: with_gradients.reduce_scatter(
            torch.zeros(2, device="cuda"), list(here().chunk(2)), op), mine)


def partial_tensor(name):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed._tensor import DTensor, Replicate, Shard, placement_types

    mesh = init_device_mesh("cuda", (2,))
    partial_of = getattr(placement_types, "_Partial", None)  # in PyTorch 2.3
    if partial_of is None:
        placed = placement_types.Partial(name)
    else:
        placed = partial_of(getattr(c10d.ReduceOp.RedOpType, name.upper()))
    tensor = DTensor.from_local(here(), mesh, [placed], run_check=False)
    return (tensor.redistribute(mesh, [Replicate()]).to_local(), tensor.redistribute(mesh, [Shard(0)]).to_local(),
            (tensor + 0).full_tensor())


def gathered(function, kind=torch.float32, **kwargs):
    output = torch.zeros(8, dtype=kind, device="cuda")
    function(output, here(kind), **kwargs)
    return output


def gathered_list(function, kind=torch.float32, **kwargs):
    outputs = [torch.zeros(4, dtype=kind, device="cuda") for _ in range(2)]
    function(outputs, here(kind), **kwargs)
    return outputs


def gathered_coalesced():
    outputs = [torch.zeros(8, device="cuda") for _ in range(2)]
    with c10d._coalescing_manager():
        for output in outputs:
            dist.all_gather_into_tensor(output, here())
    return outputs


def gather(kind):
    outputs = [torch.zeros(4, dtype=kind, device="cuda") for _ in range(2)] if rank == 1 else None
    dist.gather(here(kind), outputs, 1)
    return outputs or []


def scatter(kind):
    output = torch.zeros(2, dtype=kind, device="cuda")
    dist.scatter(output, list(here(kind).chunk(2)) if rank == 1 else None, 1)
    return output


def exchanged(kind, *sizes):
    """all_to_all_single"""
    output = torch.zeros(4 if not sizes else sum(sizes[0]), dtype=kind, device="cuda")
    dist.all_to_all_single(output, here(kind), *sizes)
    return output


def exchanged_lists(kind, shapes):
    outputs = [torch.zeros(shape, dtype=kind, device="cuda") for shape in shapes[rank]]
    inputs = list(here(kind, 6).split([shape[0] * 2 if shape else 2 for shape in shapes["given"]]))
    dist.all_to_all(outputs, inputs)
    return outputs


def pairs(later, batch=False):
    """send to the other rank, and recv from it"""
    tensor, output = here(), torch.zeros(4, device="cuda")
    if batch:
        works = dist.batch_isend_irecv([dist.P2POp(dist.isend, tensor, 1 - rank), dist.P2POp(dist.irecv, output, 1 - rank)])
    elif later:
        works = [dist.isend(tensor, 1 - rank), dist.irecv(output, 1 - rank)]
    else:
        works = []
        for turn in 0, 1:
            dist.send(tensor, 1 - rank) if turn == rank else dist.recv(output, 1 - rank)
    for work in works:
        work.wait()
    return output


def coalesced_pairs():
    tensor, output = here(), torch.zeros(4, device="cuda")
    with c10d._coalescing_manager(group, tensor.device, async_ops=True) as manager:
        dist.isend(tensor, 1 - rank)
        dist.irecv(output, 1 - rank)
    manager.wait()
    return output


def objects():
    outputs, tensor = [None, None], here()
    dist.all_gather_object(outputs, tensor.tolist())
    given_objects = [tensor.tolist() if rank == 0 else None]
    dist.broadcast_object_list(given_objects, 0)
    mine = [None]
    dist.scatter_object_list(mine, outputs if rank == 0 else None, 0)
    all_of_them = [None, None] if rank == 0 else None
    dist.gather_object(tensor.tolist(), all_of_them, 0)
    assert rank != 0 or all_of_them == outputs, all_of_them
    return torch.tensor([outputs, [given_objects[0], mine[0]]], device="cuda")


def others(kind):
    both = torch.cat([given(0, kind), given(1, kind)])
    a, b = given(0, kind), given(1, kind)
    words = str(kind).split(".")[1]
    halves = torch.cat([a.chunk(2)[rank], b.chunk(2)[rank]])
    attempt("broadcast " + words, lambda: in_place(dist.broadcast, 1, kind=kind), b)
    for name in "all_gather_into_tensor", "_all_gather_base", "all_gather_single":
        if hasattr(c10d, name):
            attempt("%s %s" % (name, words), lambda: gathered(getattr(c10d, name), kind), both)
    for name in "gather_into_tensor", "gather_single":
        if hasattr(c10d, name):
            attempt("%s %s" % (name, words),
                    lambda: gathered(lambda output, tensor: getattr(c10d, name)(tensor, output), kind),
                    both if rank == 0 else torch.zeros(8, dtype=kind))
    attempt("all_gather " + words, lambda: gathered_list(dist.all_gather, kind), a, b)
    attempt("gather " + words, lambda: gather(kind), *((a, b) if rank == 1 else ()))
    attempt("scatter " + words, lambda: scatter(kind), b.chunk(2)[rank])
    attempt("all_to_all_single " + words, lambda: exchanged(kind), halves)
    attempt("all_to_all_single of sizes " + words, lambda: exchanged(kind, [1, 1] if rank == 0 else [3, 3], [1, 3]),
            torch.cat([a[:1], b[:1]] if rank == 0 else [a[1:], b[1:]]))
    attempt("all_to_all " + words, lambda: exchanged_lists(kind, {0: [(2,), (2,)], 1: [(4,), (4,)], "given": [(1,), (2,)]}),
            *(t[:2] if rank == 0 else t[2:] for t in (given(0, kind, 6), given(1, kind, 6))))


for name, (op, _) in OPERATIONS.items():
    for kind in TYPES:
        if name in ("avg", "premul") and kind in (torch.bool, torch.uint8):
            continue
        if name != "premul" or kind.is_floating_point:
            reductions(name, op, kind)
    attempt("all_reduce later " + name, lambda: in_place(dist.all_reduce, op, async_op=True), combined(name, torch.float32))
    attempt("reduce_scatter_tensor later " + name,
            lambda: scattered(dist.reduce_scatter_tensor, op, torch.float32, async_op=True),
            combined(name, torch.float32).chunk(2)[rank], given(rank, torch.float32))
    attempt("reduce_scatter later " + name, lambda: scattered(dist.reduce_scatter, op, torch.float32, True, async_op=True),
            combined(name, torch.float32).chunk(2)[rank], given(rank, torch.float32))
for name in "sum", "avg":
    whole = combined(name, torch.float32)
    attempt("DTensor " + name, lambda: partial_tensor(name), whole, whole.chunk(2)[rank], whole)
for kind in TYPES:
    others(kind)
a, b = given(0, torch.float32), given(1, torch.float32)
attempt("a parameter", of_parameter, (a + b) / 2)
attempt("future of sum", lambda: future_of(dist.ReduceOp.SUM), a + b, a + b)
attempt("future of avg", lambda: future_of(dist.ReduceOp.AVG), (a + b) / 2, (a + b) / 2)
large = torch.full((4,), 60000.0, dtype=torch.float16)
attempt("avg of large numbers", lambda: (tensor := large.cuda(), dist.all_reduce(tensor, dist.ReduceOp.AVG))[0], large)
attempt("sum of complex numbers", lambda: in_place(dist.all_reduce, kind=torch.complex64), (a + b).to(torch.complex64))
attempt("avg of complex numbers", lambda: in_place(dist.all_reduce, dist.ReduceOp.AVG, kind=torch.complex64),
        ((a + b) / 2).to(torch.complex64))
attempt("coalesced all_gather_into_tensor", gathered_coalesced, *[torch.cat([a, b])] * 2)
attempt("send and recv", partial(pairs, False), (b, a)[rank])
attempt("isend and irecv", partial(pairs, True), (b, a)[rank])
attempt("batch_isend_irecv", partial(pairs, True, True), (b, a)[rank])
attempt("coalesced isend and irecv", coalesced_pairs, (b, a)[rank])
attempt("objects", objects, torch.stack([torch.stack([a, b]), torch.stack([a, (a, b)[rank]])]))
attempt("functional.broadcast", lambda: functional.broadcast(here(), 1, group), b)
attempt("functional.all_gather_tensor", lambda: functional.all_gather_tensor(here(), 0, group), torch.cat([a, b]))
attempt("functional.all_to_all_single", lambda: functional.all_to_all_single(here(), [2, 2], [2, 2], group),
        torch.cat([a.chunk(2)[rank], b.chunk(2)[rank]]))
attempt("functional.permute_tensor", lambda: functional.permute_tensor(here(), [1, 0], group), (b, a)[rank])
attempt("torch.distributed.nn.all_gather", lambda: with_gradients.all_gather(here()), a, b)
attempt("torch.distributed.nn.all_to_all_single", lambda: with_gradients.all_to_all_single(
    torch.zeros(4, device="cuda"), here()), torch.cat([a.chunk(2)[rank], b.chunk(2)[rank]]))
attempt("torch.distributed.nn.all_to_all", lambda: with_gradients.all_to_all(
    [torch.zeros(2, device="cuda") for _ in range(2)], list(here().chunk(2))), a.chunk(2)[rank], b.chunk(2)[rank])
for name in "BAND", "BOR", "BXOR":
    try:
        dist.all_reduce(here(torch.int64), getattr(dist.ReduceOp, name))
        say("wrong %s" % name)
    except ValueError as error:
        say(error)
dist.barrier()
say("%(right)d right, %(refused)d refused, %(wrong)d wrong" % found)
dist.destroy_process_group()
