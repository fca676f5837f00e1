# SPDX-License-Identifier: MIT
"""peer.py BATCH THREADS fp32|bf16 STEPS plain|best|compiled: convnet's training step in PyTorch.

A line of JSON for each step, as gpumap-train writes them. `best` is channels_last, and the fused
Adam where PyTorch has it for the CPU (from 2.4 on); `compiled` also torch.compile. Batches
are ready as normalised floats in the model's layout, another one for each step, so that PyTorch pays
for no loading.
"""
import json
import sys
import time

import torch
from torch import nn


def convnet():
    return nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(8192, 512), nn.ReLU(), nn.Linear(512, 10))


def adam(parameters, fused):
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    more = {"fused": True} if fused and version >= (2, 4) else {}
    return torch.optim.Adam(parameters, 1e-3, **more)


def main():
    batch, threads, steps = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[4])
    bf16, best = sys.argv[3] == "bf16", sys.argv[5] != "plain"
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    layout = torch.channels_last if best else torch.contiguous_format
    model = convnet().to(memory_format=layout)
    optimizer = adam(model.parameters(), best)
    if sys.argv[5] == "compiled":
        model = torch.compile(model)
    images = torch.randn(2 * batch, 3, 32, 32).contiguous(memory_format=layout)
    labels = torch.randint(0, 10, (2 * batch,))
    last = time.perf_counter()
    for step in range(steps):
        first = step * 7 % batch
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = nn.functional.cross_entropy(model(images[first:first + batch]),
                                               labels[first:first + batch])
        loss.backward()
        optimizer.step()
        value, now = loss.item(), time.perf_counter()
        print(json.dumps({"type": "step", "step": step + 1, "loss": value, "seconds": now - last}))
        last = now


if __name__ == "__main__":
    main()
