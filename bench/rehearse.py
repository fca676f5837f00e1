#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: rehearse.py GPUMAP... [--python PYTHON] [--rounds N] [--models mlp,convnet,resnet,encoder] [--ranks 1,2,4]

What `gpumap rehearse` costs a program of PyTorch, beside the same program on the CPU, in one thread. Of each model two
processes live at once and take steps in turns; a step is its CPU time, which other programs disturb less. For each
command the ratio of the least times, the median of the ratios of all rounds, and where the middle half of them lies;
then the CPU time from the start of Python to the end of the first step. Both must have the same losses. Then the memory
of 1, 2 and 4 ranks with DistributedDataParallel: the sum of their proportional set sizes, launchers not counted.
Several commands (of the trees of two versions) are compared in one run.
"""
import argparse
import os
import socket
import statistics
import subprocess
import sys
import time

# Model: steps of a turn.
MODELS = {"mlp": 100, "convnet": 10, "resnet": 2, "encoder": 3}
HERE = os.path.abspath(__file__)


# --- what runs in PyTorch ---------------------------------------------------------------


def resnet_like(nn):
    """The network of torchvision, in few lines."""
    import torch

    class Block(nn.Module):
        def __init__(self, inner, outer, stride):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.BatchNorm2d(outer),
                                      nn.ReLU(), nn.Conv2d(outer, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer))
            self.side = nn.Sequential() if stride == 1 else nn.Sequential(
                nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))

        def forward(self, x):
            return torch.relu(self.body(x) + self.side(x))

    widths = 64, 64, 128, 256, 512
    blocks = [Block(widths[i] if j == 0 else widths[i + 1], widths[i + 1], 2 if i and j == 0 else 1)
              for i in range(4) for j in range(2)]
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                         *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def encoder(nn):
    """Four layers of GPT-2's form."""
    import torch

    class Encoder(nn.Module):
        def __init__(self, words=1000, width=256, length=64):
            super().__init__()
            self.word, self.place = nn.Embedding(words, width), nn.Embedding(length, width)
            layer = nn.TransformerEncoderLayer(width, 4, 4 * width, activation="gelu", batch_first=True,
                                               norm_first=True)
            self.layers = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
            self.head = nn.Linear(width, words)

        def forward(self, text):
            length = text.shape[1]
            mask = nn.Transformer.generate_square_subsequent_mask(length, device=text.device)
            x = self.word(text) + self.place(torch.arange(length, device=text.device))
            return self.head(self.layers(x, mask, is_causal=True)).flatten(0, 1)

    return Encoder()


def made(model):
    """A model, and a batch for it."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    if model == "mlp":
        layers = nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)
        return nn.Sequential(*layers), torch.randn(32, 32), torch.randint(0, 10, (32,))
    if model == "convnet":
        layers = [nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                  nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                  nn.Flatten(), nn.Linear(32 * 49, 10)]
        return nn.Sequential(*layers), torch.randn(32, 1, 28, 28), torch.randint(0, 10, (32,))
    if model == "resnet":
        try:
            from torchvision.models import resnet18

            network = resnet18(num_classes=10)
        except ImportError:
            network = resnet_like(nn)
        return network, torch.randn(8, 3, 64, 64), torch.randint(0, 10, (8,))
    text = torch.randint(0, 1000, (4, 65))
    return encoder(nn), text[:, :-1], text[:, 1:].flatten()


def train(model, device):
    """Takes as many steps as each line of the standard input says. Prints milliseconds of CPU time for a step, the last
    loss, and first the CPU time so far in seconds."""
    import torch
    from torch.nn.functional import cross_entropy

    torch.set_num_threads(1)
    network, x, y = made(model)
    network.to(device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)

    def step():
        loss = cross_entropy(network(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    loss = step()
    print(time.process_time(), loss, flush=True)
    for line in sys.stdin:
        begin = time.process_time()
        for _ in range(int(line)):
            loss = step()
        print((time.process_time() - begin) / int(line) * 1e3, loss, flush=True)


def rank(device):
    """Trains for some steps, and prints its proportional set size in MiB while all ranks are there."""
    import torch
    import torch.distributed as dist
    from torch.nn.functional import cross_entropy
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(1)
    local_rank = int(os.environ["LOCAL_RANK"])
    if device == "cuda":
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if device == "cuda" else "gloo")
    network, x, y = made("convnet")
    network = DistributedDataParallel(network.to(device), [local_rank] if device == "cuda" else None)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    for _ in range(5):
        optimizer.zero_grad()
        cross_entropy(network(x.to(device)), y.to(device)).backward()
        optimizer.step()
    dist.barrier()
    with open("/proc/self/smaps_rollup") as lines:
        size = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))
    dist.barrier()
    sys.stdout.write("%.1f\n" % size)
    sys.stdout.flush()
    dist.destroy_process_group()


def launch(ranks, device):
    """Starts them, without PyTorch."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": str(ranks)}
    started = [subprocess.Popen([sys.executable, HERE, "--rank", device],
                                env={**os.environ, **meeting, "RANK": str(i), "LOCAL_RANK": str(i)})
               for i in range(ranks)]
    sys.exit(max(abs(process.wait()) for process in started))


# --- what measures ----------------------------------------------------------------------


def command(gpumap, python, *arguments):
    """On the CPU, or rehearsed."""
    if gpumap is None:
        return [python, HERE, *arguments, "cpu"]
    return [gpumap, "rehearse", "--inventory", "4xA100", "--", python, HERE, *arguments, "cuda"]


def ask(process, steps=None):
    if steps:
        process.stdin.write("%d\n" % steps)
        process.stdin.flush()
    answer = process.stdout.readline().split()
    if len(answer) != 2:
        sys.exit("%s has ended, status %s" % (" ".join(process.args), process.wait()))
    return float(answer[0]), answer[1]


def compare(model, commands, python, rounds):
    """Prints a row for each command."""
    processes, first = [], []
    for gpumap in [None, *commands]:
        processes.append(subprocess.Popen(command(gpumap, python, "--train", model), stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
        first.append(ask(processes[-1]))
    times = [[] for _ in processes]
    for turn in range(rounds + 1):
        answers = [ask(process, MODELS[model]) for process in processes]
        if len({loss for _, loss in answers}) != 1:
            sys.exit("%s: losses differ: %s" % (model, [loss for _, loss in answers]))
        if turn:  # the first warms up
            for each, (milliseconds, _) in zip(times, answers):
                each.append(milliseconds)
    for process in processes:
        process.stdin.close()
        process.wait()
    print("%s: %.2f ms on the CPU at least, %.2f in the median; first step after %.1f s" %
          (model, min(times[0]), statistics.median(times[0]), first[0][0]))
    for gpumap, each, (begin, _) in zip(commands, times[1:], first[1:]):
        ratios = [b / a for a, b in zip(times[0], each)]
        low, middle, high = statistics.quantiles(ratios)
        print("  %s: %.2f ms, times %.2f in the median (%.2f to %.2f), %.2f of the least; first step after %.1f s" %
              (gpumap, min(each), middle, low, high, min(each) / min(times[0]), begin), flush=True)


def memory(ranks, commands, python, rounds):
    """Prints a row for each number of ranks."""
    sizes = {gpumap: [] for gpumap in [None, *commands]}
    for _ in range(rounds):
        for gpumap in sizes:
            done = subprocess.run(command(gpumap, python, "--launch", str(ranks)), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
            parts = [float(line) for line in done.stdout.split()]
            if done.returncode or len(parts) != ranks:
                sys.exit("%d ranks: status %d: %s" % (ranks, done.returncode, done.stderr))
            sizes[gpumap].append(sum(parts))
    plain = statistics.median(sizes[None])
    print("%d ranks: %.0f MiB on the CPU" % (ranks, plain))
    for gpumap in commands:
        each = statistics.median(sizes[gpumap])
        print("  %s: %.0f MiB, %.0f MiB more for a rank, ratio %.2f" %
              (gpumap, each, (each - plain) / ranks, each / plain), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("commands", nargs="+", metavar="GPUMAP")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--ranks", default="1,2,4")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    for model in filter(None, options.models.split(",")):
        compare(model, options.commands, options.python, options.rounds)
    for ranks in filter(None, options.ranks.split(",")):
        memory(int(ranks), options.commands, options.python, 3)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        train(sys.argv[2], sys.argv[3])
    elif sys.argv[1:2] == ["--launch"]:
        launch(int(sys.argv[2]), sys.argv[3])
    elif sys.argv[1:2] == ["--rank"]:
        rank(sys.argv[2])
    else:
        main()
