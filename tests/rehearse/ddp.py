# SPDX-License-Identifier: MIT
"""A process for each GPU. ddp.py [MISTAKE], under a launcher"""
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

mistake = sys.argv[1] if len(sys.argv) > 1 else ""
folder = sys.argv[2] if len(sys.argv) > 2 else "."


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.used = nn.Linear(8, 4)
        self.unused = nn.Linear(8, 4)

    def forward(self, x):
        return self.used(x) + (0 if mistake in ("unused", "found") else self.unused(x))


torch.manual_seed(0)
torch.set_num_threads(1)
local_rank = int(os.environ["LOCAL_RANK"])
if mistake != "set_device":
    torch.cuda.set_device(local_rank)
dist.init_process_group("gloo" if mistake == "gloo" else "nccl")
rank = dist.get_rank()
data = TensorDataset(torch.randn(64, 8), torch.randint(0, 4, (64,)))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=8, sampler=sampler, num_workers=1, pin_memory=True)
model = Model().to("cuda" if mistake == "set_device" else "cuda:%d" % local_rank)
model = DistributedDataParallel(model, device_ids=None if mistake == "set_device" else [local_rank],
                                find_unused_parameters=mistake == "found")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    if mistake != "epoch":
        sampler.set_epoch(epoch)
    for x, y in loader:
        if mistake != "input":
            x, y = x.cuda(local_rank, non_blocking=True), y.cuda(local_rank, non_blocking=True)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    total = torch.zeros(1) if mistake == "collective" else loss.detach()
    dist.all_reduce(total, op=dist.ReduceOp.AVG)
    if rank == 0:
        print("epoch %d loss %.6f" % (epoch, total.item()), flush=True)
file = os.path.join(folder, "model.pt")
while mistake == "late" and rank == 1 and not os.path.exists("go"):
    time.sleep(0.1)
if mistake in ("alone", "late") and rank == 1:
    sys.exit()
if rank == 0 or mistake == "save":
    torch.save(model.module.state_dict(), file)
dist.barrier()
state = torch.load(file, map_location=None if mistake == "load" else "cuda:%d" % local_rank)
model.module.load_state_dict(state)
dist.barrier()
# print would write the end of the line by itself, if a launcher has set PYTHONUNBUFFERED.
sys.stdout.write("rank %d on %s %s\n" % (rank, state["used.weight"].device, dist.get_backend()))
dist.destroy_process_group()
