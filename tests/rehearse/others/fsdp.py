# SPDX-License-Identifier: MIT
"""PyTorch's FSDP2, which shards a model, and its checkpoint of all ranks, under a launcher. fsdp.py cpu|cuda"""
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.functional import cross_entropy

device = sys.argv[1]
torch.set_num_threads(1)
torch.manual_seed(0)
if device == "cuda":
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl" if device == "cuda" else "gloo")
rank = dist.get_rank()
mesh = init_device_mesh(device, (dist.get_world_size(),))
layers = [nn.TransformerEncoderLayer(16, 2, 32, dropout=0, batch_first=True) for _ in range(2)]
model = nn.Sequential(*layers, nn.Linear(16, 4)).to(device)
for layer in model:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
generator = torch.Generator().manual_seed(1 + rank)


def train(steps):
    for step in range(steps):
        x, y = torch.randn(8, 6, 16, generator=generator), torch.randint(0, 4, (8, 6), generator=generator)
        loss = cross_entropy(model(x.to(device)).flatten(0, 1), y.to(device).flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0).full_tensor()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0:
            print("loss %.9g norm %.9g" % (mean / dist.get_world_size(), norm), flush=True)


train(3)
model_state, optimizer_state = get_state_dict(model, optimizer)
state = {"model": model_state, "optimizer": optimizer_state}
dist.checkpoint.save(state, checkpoint_id="sharded")
train(2)
dist.checkpoint.load(state, checkpoint_id="sharded")
set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
train(2)
part = model[0].linear1.weight.to_local()
sys.stdout.write("rank %d has %s on %s\n" % (rank, tuple(part.shape), part.device))
sys.stdout.flush()
dist.destroy_process_group()
