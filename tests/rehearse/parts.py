# SPDX-License-Identifier: MIT
"""Several GPUs in one process: DataParallel, and parts of a model. parts.py MISTAKE"""
import sys

import torch
import torch.nn.functional as F
from torch import nn

mistake = sys.argv[1] if len(sys.argv) > 1 else ""
torch.manual_seed(0)


class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16).to("cuda:0")
        self.second = nn.Linear(16, 4).to("cuda:1")

    def forward(self, x):
        x = torch.relu(self.first(x.to("cuda:0")))
        return self.second(x if mistake == "parts" else x.to("cuda:1"))


def train(model, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(12, 8), torch.randint(0, 4, (12,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
    print("%.9f" % loss.item(), loss.device, {str(p.grad.device) for p in model.parameters()})


train(Parts(), "cuda:1")
home = "cuda:0" if mistake == "home" else "cuda:2"
train(nn.DataParallel(nn.Linear(8, 4).to(home), device_ids=[2, 3]), "cuda:2")
