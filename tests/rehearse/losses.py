# SPDX-License-Identifier: MIT
"""The losses of several ranks with DistributedDataParallel. losses.py cpu|cuda, under a launcher"""
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
local_rank = int(os.environ["LOCAL_RANK"])
if sys.argv[1] == "cuda":
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)
    dist.init_process_group("nccl")
else:
    device = torch.device("cpu")
    dist.init_process_group("gloo")
rank = dist.get_rank()

torch.manual_seed(0)
convnet = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Dropout(0.1), nn.Linear(8 * 49, 10))
words = nn.Sequential(nn.Embedding(50, 16), nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), nn.Linear(16, 50))


def images():
    return torch.randn(16, 3, 16, 16), torch.randint(0, 10, (16,))


def sentences():
    text = torch.randint(0, 50, (8, 13))
    return text[:, :-1], text[:, 1:]


def train(name, model, batch, optimizer, buckets):
    model = DistributedDataParallel(model.to(device), device_ids=[local_rank] if device.type == "cuda" else None,
                                    bucket_cap_mb=buckets)
    optimizer = optimizer(model.parameters())
    torch.manual_seed(1 + rank)
    for step in range(8):
        x, y = batch()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.to(device)).flatten(0, -2), y.to(device).flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        mean /= dist.get_world_size()
        # The line in one piece, between those of other ranks.
        sys.stdout.write("%s rank %d step %d: %.17g, of all ranks %.17g\n" % (name, rank, step, loss.item(), mean))
        sys.stdout.flush()


train("convnet with momentum", convnet, images, lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), 25)
train("encoder with AdamW", words, sentences, lambda p: torch.optim.AdamW(p, lr=0.01), 0.001)
dist.destroy_process_group()
