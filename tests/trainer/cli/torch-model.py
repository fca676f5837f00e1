# SPDX-License-Identifier: MIT
"""torch-model.py MODEL BATCH <DUMP: compares what model-dump wrote with PyTorch in double."""
import sys

import torch
from torch import nn

TOLERANCE = 1e-5  # of the greatest value of each tensor

MODELS = {
    "convnet": lambda: nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(8192, 512), nn.ReLU(), nn.Linear(512, 10)),
    "net28": lambda: nn.Sequential(
        nn.Conv2d(3, 32, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(4608, 64), nn.ReLU(), nn.Linear(64, 10)),
    "subnets": lambda: nn.Sequential(
        nn.Linear(1024, 512), nn.Linear(512, 256), nn.Linear(256, 100)),
}
SAMPLES = {"convnet": (3, 32, 32), "net28": (3, 28, 28), "subnets": (1024,)}


def numbers(count, seed):
    """stage_number(0..count - 1, seed)"""
    bits = 0xFFFFFFFF
    x = (torch.arange(count) + (seed * 0x9E3779B9 & bits)) & bits
    x = times(x, 2654435761)
    x = times(x ^ (x >> 15), 0x2C1B3C6D)
    x = x ^ (x >> 12)
    return ((x >> 8).double() / 16777216.0 - 0.5).float()


def times(x, factor):
    """x * factor modulo 2^32, which 64 bits with a sign could not hold at once."""
    return ((((x >> 16) * factor & 0xFFFF) << 16) + (x & 0xFFFF) * factor) & 0xFFFFFFFF


def expected(name, batch):
    model = MODELS[name]()
    parameters = list(model.parameters())
    for p, parameter in enumerate(parameters):
        weight = parameters[p & ~1]
        scale = torch.tensor(2.0 / (weight.numel() / weight.shape[0]) ** 0.5).float()
        parameter.data = (numbers(parameter.numel(), p + 1) * scale).view_as(parameter)
    count = batch * torch.Size(SAMPLES[name]).numel()
    samples = (numbers(count, 100) * 2).view(batch, *SAMPLES[name])
    model.double()
    logits = model(samples.double())
    loss = nn.functional.cross_entropy(logits, 3 * torch.arange(batch) % logits.shape[1])
    loss.backward()
    yield "logits", logits.detach()
    yield "loss", loss.detach()
    for (key, parameter) in model.named_parameters():
        yield "gradient of " + key, parameter.grad


def main():
    got = torch.frombuffer(bytearray(sys.stdin.buffer.read()), dtype=torch.float32).double()
    at = 0
    worst = 0.0
    for what, want in expected(sys.argv[1], int(sys.argv[2])):
        mine = got[at:at + want.numel()]
        at += want.numel()
        difference = ((mine - want.flatten()).abs().max() / want.abs().max()).item()
        worst = max(worst, difference)
        if not difference <= TOLERANCE:
            print(f"{what} differs by {difference:.3g}")
    if at != got.numel():
        print(f"{got.numel()} numbers instead of {at}")
    print(f"greatest difference {worst:.3g}")


main()
