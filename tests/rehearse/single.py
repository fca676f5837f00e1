# SPDX-License-Identifier: MIT
"""One process on one GPU. single.py [MISTAKE [ORDINAL]]"""
import sys

import torch
import torch.nn.functional as F
from torch import nn

mistake = sys.argv[1] if len(sys.argv) > 1 else ""
ordinal = int(sys.argv[2]) if len(sys.argv) > 2 else 1
torch.manual_seed(0)
torch.set_num_threads(1)
device = torch.device("cpu" if mistake == "cpu" else "cuda:%d" % (99 if mistake == "ordinal" else ordinal))
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))
if mistake != "module":
    model = model.to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(5):
    images, labels = torch.randn(16, 1, 8, 8), torch.randint(0, 10, (16,))
    images = images if mistake == "input" else images.to(device)
    labels = labels if mistake == "labels" else labels.to(device)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    if mistake == "numpy":
        loss.detach().numpy()
    print("step %d loss %.17g" % (step, loss.item()))
if mistake == "memory":
    torch.zeros(100, 2**30, device=device)
if mistake == "caught":
    try:
        torch.zeros(100, 2**30, device=device)
    except torch.cuda.OutOfMemoryError as error:
        print(error)
print(next(model.parameters()).device, torch.cuda.memory_allocated(ordinal) > 0)
