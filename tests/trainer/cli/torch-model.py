# SPDX-License-Identifier: MIT
"""torch-model.py MODEL BATCH SIZE STEPS PRECISION EXACT <DUMP: compares what model-dump wrote with PyTorch in double.

Of ResNets, whose layers are many, PyTorch's own distance is allowed several times, by the root mean square of each
tensor: its greatest difference is decided by the one ReLU whose input is nearest to zero, and there PyTorch's own
convolutions are up to eight times as far away as oneDNN's. In float32 four times is allowed. In bf16, beside autocast,
both programs round the same values (trainer/README.md), so distances differ by chance only, by a third for the 10
values of the smallest tensor: twice is allowed. Winograd's algorithm (EXACT no) may double the error of a convolution.
Losses are single numbers, and training multiplies their distances: after 20 steps ResNet-50 in float32 has twice the
loss of double. So a loss may be four times as far away as those of PyTorch in bf16 or float32.
"""
import sys

import torch
from torch import nn

import resnet

TOLERANCE = 1e-5  # of each tensor, see distance()
RATE = 0.001
SPREAD = 4
SPREAD_OF_BF16 = {"yes": 2, "no": 4}

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


def set_parameters(model):
    p = 0
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            p += 1
            values = numbers(parameter.numel(), p)
            if isinstance(module, nn.BatchNorm2d):
                values += 1 if name == "weight" else 0
            else:
                values *= torch.tensor(2.0 / (module.weight.numel() / module.weight.shape[0]) ** 0.5).float()
            parameter.data = values.view_as(parameter)


def forward(model, samples, labels, bf16):
    """Logits and the mean loss."""
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        logits = model(samples)
        return logits, nn.functional.cross_entropy(logits, labels % logits.shape[1])


def expected(name, batch, size, steps, dtype, bf16=False):
    is_resnet = name.startswith("resnet")
    model = resnet.resnet(name, size or 32) if is_resnet else MODELS[name]()
    shape = (3, size or 32, size or 32) if is_resnet else SAMPLES[name]
    set_parameters(model)
    samples = (numbers(batch * torch.Size(shape).numel(), 100) * 2).view(batch, *shape).to(dtype)
    model.to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), RATE)
    labels = 3 * torch.arange(batch)
    logits, loss = forward(model, samples, labels, bf16)
    loss.backward()
    yield "logits", logits.detach()
    yield "loss", loss.detach()
    for (key, parameter) in model.named_parameters():
        yield "gradient of " + key, parameter.grad.clone()
    if is_resnet:
        for (key, buffer) in model.named_buffers():
            if buffer.dtype == dtype:
                yield key, buffer.clone()
        model.eval()
        yield "logits of an evaluation", forward(model, samples, labels, bf16)[0].detach()
        model.train()
    for step in range(steps):
        optimizer.step()
        optimizer.zero_grad()
        loss = forward(model, samples, labels, bf16)[1]
        loss.backward()
        yield f"loss after {step + 1} steps", loss.detach()


def distance(got, want, by_root):
    """Of the greatest value; or of the root of the mean of squares."""
    difference = got.double().flatten() - want.flatten()
    if by_root:
        return (difference.norm() / want.norm()).item()
    return (difference.abs().max() / want.abs().max()).item()


def main():
    got = torch.frombuffer(bytearray(sys.stdin.buffer.read()), dtype=torch.float32).double()
    at = 0
    name, batch, size, steps, precision, exact = sys.argv[1], *map(int, sys.argv[2:5]), *sys.argv[5:7]
    bf16 = precision == "bf16"
    runs = []
    if name.startswith("resnet"):
        precisions = (True, False) if bf16 else (False,)
        runs = [expected(name, batch, size, steps, torch.float32, autocast) for autocast in precisions]
    worst = theirs = trained = times = 0.0
    for what, want in expected(name, batch, size, steps, torch.float64):
        mine = got[at:at + want.numel()]
        at += want.numel()
        difference = distance(mine, want, bool(runs))
        distances = [distance(next(run)[1], want, True) for run in runs]
        own = distances[0] if runs else 0.0
        is_loss = what.startswith("loss")
        # A loss may be near by luck: as far as one has been until here, and in bf16 as the logits.
        if what.startswith("loss after") or (bf16 and (is_loss or what == "logits")):
            own = trained = max([trained, *distances])
        spread = SPREAD_OF_BF16[exact] if bf16 and not is_loss else SPREAD
        if "-v" in sys.argv:
            print(f"{what}: {difference:.3g}, PyTorch {own:.3g}")
        worst, theirs = max(worst, difference), max(theirs, own)
        times = max(times, difference / own) if own > 0 else times
        if not difference <= max(0.0 if bf16 else TOLERANCE, spread * own):
            print(f"{what} differs by {difference:.3g}, PyTorch by {own:.3g}")
    if at != got.numel():
        print(f"{got.numel()} numbers instead of {at}")
    print(f"greatest difference {worst:.3g}" +
          (f", PyTorch {theirs:.3g}, at most {times:.2g} times" if runs else ""))


main()
