# SPDX-License-Identifier: MIT
"""SyncBatchNorm of two ranks beside BatchNorm of all their samples at once, on the CPU. Under a launcher"""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")
torch.manual_seed(0)
worst = {}


def compare(what, tensor, right, scale=1):
    error = (tensor.detach().cpu().double() - right.detach().double() * scale).abs().max().item()
    worst[what] = max(worst.get(what, 0), error)


def train(norm, shape, first):
    """Rank 0 has the first samples, rank 1 the others: unlike numbers of them."""
    mine = slice(0, first) if local_rank == 0 else slice(first, None)
    whole, part = nn.Sequential(norm).train(), nn.Sequential(type(norm)(norm.num_features, affine=norm.affine))
    part.load_state_dict(whole.state_dict())
    part = nn.SyncBatchNorm.convert_sync_batchnorm(part).cuda()
    if norm.affine:
        part = DistributedDataParallel(part, device_ids=[local_rank])
    for _ in range(3):
        x = torch.randn(*shape) * 3 + 1
        here = x[mine].cuda().requires_grad_()
        x.requires_grad_()
        y, there = whole(x), part(here)
        compare("outputs", there, y[mine])
        (y * y.cos()).sum().backward()
        (there * there.cos()).sum().backward()
        compare("gradients of inputs", here.grad, x.grad[mine])
        module = part.module if norm.affine else part
        for parameter, right in zip(module.parameters(), whole.parameters()):
            # DistributedDataParallel takes the mean of the ranks.
            compare("gradients of parameters", parameter.grad, right.grad, 0.5)
            assert parameter.grad.device == torch.device("cuda", local_rank)
            parameter.grad, right.grad = None, None
    for name, buffer in module.named_buffers():
        compare("statistics", buffer, dict(whole.named_buffers())[name])
    there = module.eval()(here)
    compare("outputs", there, whole.eval()(x)[mine])


weights = nn.BatchNorm2d(5)
nn.init.uniform_(weights.weight, 0.5, 2)
nn.init.uniform_(weights.bias)
train(weights, (8, 5, 4, 3), 4)
train(weights, (9, 5, 4, 3), 2)
train(nn.BatchNorm1d(7, affine=False), (12, 7), 6)
half = nn.SyncBatchNorm(5).cuda().half()(torch.ones(2, 5, 3, device="cuda", dtype=torch.float16))
print("rank %d: %s\n" % (local_rank, half.dtype), end="", flush=True)
for what, error in worst.items():
    print("rank %d: %s differ by %.1g: %s\n" % (local_rank, what, error, error < 5e-5), end="", flush=True)
dist.destroy_process_group()
