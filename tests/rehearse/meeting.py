# SPDX-License-Identifier: MIT
"""The first collective of two ranks or more. meeting.py CASE"""
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

case = sys.argv[1]
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank if "own" in case else 0)
gpu = torch.zeros(2, device="cuda")
cpu = torch.zeros(2)
CASES = {
    "barrier": lambda: dist.barrier(device_ids=[0]),
    "barrier of one GPU": lambda: dist.barrier(),
    "device_id": lambda: None,
    "own GPUs, barrier": lambda: (dist.barrier(), dist.barrier(device_ids=[rank])),
    "a barrier, which guesses, and all_reduce": lambda: (dist.barrier(), dist.all_reduce(gpu)),
    "all_to_all": lambda: dist.all_to_all(list(gpu.chunk(2)), list(gpu.chunk(2))),
    "reduce_scatter": lambda: dist.reduce_scatter(gpu, [gpu, gpu]),
    "functional": lambda: functional.all_reduce(gpu, "sum", dist.group.WORLD),
    "functional gather": lambda: functional.all_gather_tensor(gpu, 0, dist.group.WORLD),
    "group": lambda: dist.group.WORLD.allreduce([gpu]).wait(),
    "message": lambda: dist.send(gpu, 1) if rank == 0 else dist.recv(gpu, 0),
    "own GPUs, all_to_all on the CPU": lambda: dist.all_to_all(list(cpu.chunk(2)), list(cpu.chunk(2))),
    "own GPUs, functional on the CPU": lambda: functional.all_reduce(cpu, "sum", dist.group.WORLD),
    "own GPUs, gloo beside": lambda: (dist.all_reduce(gpu), dist.all_reduce(cpu, group=dist.new_group(backend="gloo"))),
    "own GPUs, cpu:gloo,cuda:nccl": lambda: (dist.all_reduce(gpu), dist.all_reduce(cpu)),
    "own GPUs, some of them": lambda: pair is not dist.GroupMember.NON_GROUP_MEMBER and dist.all_reduce(gpu, group=pair),
}
options = {"device_id": torch.device("cuda:0")} if case == "device_id" else {}
dist.init_process_group("cpu:gloo,cuda:nccl" if "cpu:" in case else "nccl", **options)
pair = dist.new_group([0, 1]) if "some" in case else None
CASES[case]()
sys.stdout.write("rank %d has passed with %s\n" % (rank, dist.get_backend()))
dist.destroy_process_group()
