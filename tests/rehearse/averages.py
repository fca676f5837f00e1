# SPDX-License-Identifier: MIT
"""ReduceOp.AVG of two ranks, under a launcher"""
import os

import torch
import torch.distributed as dist

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
average = dist.ReduceOp.AVG


def given(kind=torch.float32):
    return torch.tensor([local_rank + 1, local_rank + 4], dtype=kind, device="cuda")


def say(words, tensor):
    if local_rank == 0:
        print(words, tensor.tolist(), flush=True)


tensor = given()
dist.all_reduce(tensor, op=average)
say("all_reduce", tensor)
parameter = torch.nn.Parameter(given())
dist.all_reduce(parameter, average)
say("a parameter", parameter)
tensor = given(torch.int64)
dist.all_reduce(tensor, op=average)
say("whole numbers", tensor)
tensor = given()
work = dist.all_reduce(tensor, op=average, async_op=True)
work.wait()
assert work.is_completed() and work.get_future().value()[0] is tensor
say("later", tensor)
tensor = given()
dist.all_reduce(tensor, average, None, True).wait()
say("later, by position", tensor)
tensor = given()
dist.reduce(tensor, 0, average)
say("reduce", tensor)
tensor = torch.zeros(1, device="cuda")
dist.reduce_scatter_tensor(tensor, given(), op=average)
say("reduce_scatter_tensor", tensor)
dist.destroy_process_group()
