#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torch-data.py DATA-MAIN: orders, random numbers and initial weights against PyTorch's. TAP."""
import itertools
import subprocess
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

SEEDS = (0, 1, 42, 1234, 2**31, 2**32 - 1, 2**32 + 5, 2**52, -1, -7)
SHUFFLED, IN_ORDER, RANDOM = range(3)
PAD, DROP = range(2)
FUSED = "usage: AVX" in torch.__config__.show()
ours = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
number = failures = 0


def ask(*words):
    ours.stdin.write((" ".join(str(w) for w in words) + "\n").encode())
    ours.stdin.flush()
    size = ours.stdout.readline()
    return ours.stdout.read(int(size)) if size else b"it ended"


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def data(tensors):
    return b"".join(t.detach().contiguous().numpy().tobytes() for t in tensors)


def report(name, wrong, count):
    """wrong: what differs, of `count` comparisons."""
    global number, failures
    number += 1
    good = count > 0 and not wrong
    failures += not good
    print(f"{'' if good else 'not '}ok {number} - {name}: {count} compared", flush=True)
    for what in wrong[:5]:
        print(f"#   differs: {what}")


def compare(name, cases):
    """cases: (request, bytes that PyTorch has)"""
    wrong, count = [], 0
    for request, want in cases:
        count += 1
        if ask(*request) != want:
            wrong.append(request)
    report(name, wrong, count)


def permutations():
    for seed in SEEDS:
        for n in (0, 1, 2, 10, 623, 624, 625, 50000):
            yield ("randperm", seed, n), data([torch.randperm(n, generator=seeded(seed))])


def uniforms():
    for seed in SEEDS:
        for n, low, high in ((1, 0, 1), (17, -0.1, 0.1), (5000, -1 / 24, 1 / 24), (999, 2, 3.3)):
            want = torch.empty(n).uniform_(low, high, generator=seeded(seed))
            yield ("uniform", seed, n, repr(float(low)), repr(float(high))), data([want])


def normals():
    """PyTorch's logarithm, sine and cosine depend on the processor."""
    wrong, count = [], 0
    for seed in SEEDS:
        for n, std in ((16, 1), (37, 0.05), (5000, 2), (64 * 3 * 49, 0.025)):
            want = torch.empty(n).normal_(0, std, generator=seeded(seed))
            got = torch.frombuffer(bytearray(ask("normal", seed, n, std)), dtype=torch.float32)
            count += 1
            if got.shape != want.shape or (got - want).abs().max() > 5e-6 * std:
                wrong.append((seed, n, std))
    report("normal_, within 5e-6 of the deviation", wrong, count)


def models():
    """Layers as (out, in, side of the kernel or 0), in the order of their construction."""
    convnet = [(64, 3, 3), (128, 64, 3), (512, 8192, 0), (10, 512, 0)]
    net28 = [(32, 3, 5), (64, 4608, 0), (10, 64, 0)]
    subnets = [(512, 1024, 0), (256, 512, 0), (100, 256, 0)]
    for seed in (0, 1234, -1):
        for layers in (convnet, net28, subnets, [(1, 1, 0)]):
            torch.manual_seed(seed)
            made = [nn.Conv2d(i, o, k) if k else nn.Linear(i, o) for o, i, k in layers]
            want = data(p for m in made for p in (m.weight, m.bias))
            yield ("init", seed, *(n for layer in layers for n in layer)), want


def answer_of(loaders, batch):
    """What data-main prints: steps, then all samples of each rank."""
    rows = [list(loader) for loader in loaders]
    steps = max(len(row) for row in rows)
    assert all(len(b) <= batch for row in rows for b in row)
    return data([torch.tensor([steps] + [int(s) for row in rows for b in row for s in b])])


def distributed(samples, ranks, batch, epoch, tail, whole, order, seed):
    loaders = []
    for rank in range(ranks):
        sampler = DistributedSampler(range(samples), ranks, rank, shuffle=order == SHUFFLED,
                                     seed=seed, drop_last=tail == DROP)
        sampler.set_epoch(epoch)
        loaders.append(DataLoader(range(samples), batch, sampler=sampler, drop_last=whole))
    return answer_of(loaders, batch)


def distributed_cases():
    for samples in (1, 2, 3, 7, 10, 31, 64, 100):
        for ranks in (1, 2, 3, 4, 8, 13):
            for epoch, order, seed in ((0, SHUFFLED, 0), (5, SHUFFLED, 77), (1, IN_ORDER, 0)):
                for tail, batch, whole in itertools.product((PAD, DROP), (1, 3, 4), (False, True)):
                    mine = -(-samples // ranks) if tail == PAD else samples // ranks
                    if mine < (batch if whole else 1):
                        continue
                    shape = (samples, ranks, batch)
                    yield (("sampler", order, tail, *shape, int(whole), seed, epoch),
                           distributed(*shape, epoch, tail, whole, order, seed))


def large_distributed():
    for samples, ranks, epoch in ((50000, 4, 3), (50000, 7, 0), (10000, 8, 1000)):
        shape = (samples, ranks, samples)
        yield (("sampler", SHUFFLED, PAD, *shape, 0, 0, epoch),
               distributed(*shape, epoch, PAD, False, SHUFFLED, 0))


def loaders():
    for seed, whole in itertools.product(SEEDS, (False, True)):
        torch.manual_seed(seed)
        loader = DataLoader(range(50), 8, shuffle=True, drop_last=whole)
        for epoch in range(4):
            want = answer_of([loader], 8)
            yield ("sampler", RANDOM, PAD, 50, 1, 8, int(whole), seed, epoch), want


def values():
    mean = torch.tensor([0.4914, 0.4822, 0.4465]).view(3, 1)
    std = torch.tensor([0.2470, 0.2435, 0.2616]).view(3, 1)
    bytes_of = torch.arange(256, dtype=torch.uint8).expand(3, 256)
    yield ("values",), data([bytes_of.to(torch.float32).div(255).sub_(mean).div_(std)])


compare("randperm", permutations())
# Without AVX PyTorch rounds uniform numbers twice.
if FUSED:
    compare("uniform_", uniforms())
    compare("weights of new layers", models())
normals()
compare("DistributedSampler", distributed_cases())
compare("DistributedSampler, large", large_distributed())
compare("DataLoader(shuffle=True)", loaders())
compare("normalised bytes", values())
print(f"1..{number}")
ours.stdin.close()
sys.exit(ours.wait() != 0 or failures > 0)
