# SPDX-License-Identifier: MIT
"""Trains on a GPU for each process, and continues from model.pt. It has two mistakes: README.md finds them."""
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
dist.init_process_group("nccl")

torch.manual_seed(0)
images, labels = torch.randn(512, 3, 32, 32), torch.randint(0, 10, (512,))
model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 30 * 30, 10)).cuda()
model = DistributedDataParallel(model, device_ids=[local_rank])
optimizer = torch.optim.Adam(model.parameters())

if os.path.exists("model.pt"):
    state = torch.load("model.pt")
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])

for batch in range(dist.get_rank(), 16, dist.get_world_size()):
    x, y = images[32 * batch:32 * batch + 32], labels[32 * batch:32 * batch + 32]
    x = x.cuda()
    optimizer.zero_grad()
    loss = cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()

if dist.get_rank() == 0:
    torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict()}, "model.pt")
    print("loss %.3f" % loss.item())
dist.destroy_process_group()
