# SPDX-License-Identifier: MIT
"""torch-train.py DATA [options]: the same training by PyTorch, a line of JSON for each step.

The same seed, the order of DistributedSampler, the same model, losses and optimizer as gpumap-train.
--ranks N takes the samples of all ranks of a padded DistributedDataParallel in one batch, whose
gradient is the mean of the ranks' means where their batches are equal.

torch-train.py - reads lines "FILE DATA [options]" from standard input and runs them one after the
other, with the output in FILE, because PyTorch takes seconds to start.
"""
import argparse
import json
import struct
import sys
import time

import torch
from torch import nn
from torch.utils.data.distributed import DistributedSampler

import resnet

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
MODELS = {
    "convnet": lambda: nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(8192, 512), nn.ReLU(), nn.Linear(512, 10)),
    "net28": lambda: nn.Sequential(
        nn.Conv2d(3, 32, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(4608, 64), nn.ReLU(), nn.Linear(64, 10)),
}
NAMES = {"convnet": ("conv1", "conv2", "fc1", "fc2"), "net28": ("conv1", "fc1", "fc2")}


def options(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("data", help="a folder with the binary files of CIFAR-10")
    parser.add_argument("--model", default="convnet", choices=sorted(MODELS) + ["resnet18", "resnet50"])
    parser.add_argument("--image-size", type=int, default=0, help="of a ResNet")
    parser.add_argument("--global-batch", type=int, default=64)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--devices", type=int, default=1,
                        help="normalize each part of a batch by itself; the running statistics of the first stay")
    parser.add_argument("--accumulate", type=int, default=1, help="the same in successive passes, which all move them")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--steps", type=int, default=0, help="0: those of the epochs")
    parser.add_argument("--optimizer", default="sgd", choices=("sgd", "adam", "adamw"))
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--momentum", type=float, default=0.0)
    parser.add_argument("--nesterov", action="store_true")
    parser.add_argument("--weight-decay", type=float, default=0.0)
    parser.add_argument("--clip-norm", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--evaluate", action="store_true")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--plain", action="store_true", help="PyTorch's own convolutions, not oneDNN's")
    parser.add_argument("--double", action="store_true", help="the same numbers to begin with, no rounding to speak of")
    parser.add_argument("--load", help="begins with the parameters of this safetensors file")
    parser.add_argument("--save", help="writes a safetensors file, names as DataParallel has them")
    parser.add_argument("--logits", type=int, default=0, help="and no training: of so many test samples, as floats")
    return parser.parse_args(arguments)


def read(folder, names, side):
    """Images, their middle of side x side, and labels."""
    parts = []
    for name in names:
        with open(f"{folder}/{name}", "rb") as file:
            parts.append(torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).view(-1, 3073))
    records = torch.cat(parts)
    images = records[:, 1:].reshape(-1, 3, 32, 32)
    cut = (32 - side) // 2
    return images[:, :, cut:cut + side, cut:cut + side].contiguous(), records[:, 0].long()


def normalised(images):
    mean = torch.tensor(MEAN).view(1, 3, 1, 1)
    std = torch.tensor(STD).view(1, 3, 1, 1)
    return (images.float().div(255) - mean) / std


def placed(x, o):
    """As the model is."""
    x = x.double() if o.double else x
    return x.to(memory_format=torch.channels_last) if o.channels_last else x


def steps_of(samples, o, epoch):
    """The samples of each step: those of all ranks, a rank's one after the other."""
    orders = []
    for rank in range(o.ranks):
        sampler = DistributedSampler(range(samples), o.ranks, rank, seed=o.seed)
        sampler.set_epoch(epoch)
        orders.append(list(sampler))
    batch = o.global_batch // o.ranks
    for first in range(0, len(orders[0]), batch):
        yield [i for order in orders for i in order[first:first + batch]]


def optimizer_of(model, o):
    if o.optimizer == "sgd":
        return torch.optim.SGD(model.parameters(), o.lr, o.momentum, weight_decay=o.weight_decay,
                               nesterov=o.nesterov)
    kind = torch.optim.Adam if o.optimizer == "adam" else torch.optim.AdamW
    return kind(model.parameters(), o.lr, weight_decay=o.weight_decay)


def backward(model, x, labels, o):
    """The mean loss, as DataParallel, DistributedDataParallel (broadcast_buffers) and passes of accumulation have it."""
    size = o.global_batch // o.accumulate
    parts = x.chunk(o.devices) if o.devices > 1 else x.split(size)
    buffers, loss = None, 0.0
    for part, y in zip(parts, labels.chunk(o.devices) if o.devices > 1 else labels.split(size)):
        with torch.autocast("cpu", torch.bfloat16, enabled=o.bf16):
            part_loss = nn.functional.cross_entropy(model(part), y) * (len(y) / len(labels))
        part_loss.backward()
        loss += part_loss.item()
        if o.devices > 1 and buffers is None:
            buffers = [b.clone() for b in model.buffers()]
    for buffer, first in zip(model.buffers(), buffers or []):
        buffer.copy_(first)
    return loss


def evaluate(model, images, labels, o):
    correct, loss = 0, 0.0
    model.eval()
    with torch.no_grad():
        for first in range(0, len(labels), 500):
            with torch.autocast("cpu", torch.bfloat16, enabled=o.bf16):
                logits = model(placed(normalised(images[first:first + 500]), o))
            part = labels[first:first + 500]
            correct += int((logits.argmax(1) == part).sum())
            loss += float(nn.functional.cross_entropy(logits.float(), part, reduction="sum"))
    model.train()
    return {"loss": loss / len(labels), "accuracy": correct / len(labels)}


def tell(out, **line):
    print(json.dumps(line), file=out, flush=True)


def side_of(o):
    return 28 if o.model == "net28" else o.image_size or 32


def train(model, o, out):
    side = side_of(o)
    images, labels = read(o.data, [f"data_batch_{i}.bin" for i in range(1, 6)], side)
    optimizer = optimizer_of(model, o)
    begin, step = time.time(), 0
    for epoch in range(o.epochs):
        for chosen in steps_of(len(labels), o, epoch):
            x, y = placed(normalised(images[chosen]), o), labels[chosen]
            optimizer.zero_grad()
            loss = backward(model, x, y, o)
            norm = None
            if o.clip_norm > 0:
                norm = float(nn.utils.clip_grad_norm_(model.parameters(), o.clip_norm))
            optimizer.step()
            step += 1
            tell(out, type="step", step=step, epoch=epoch, loss=loss, gradient_norm=norm)
            if step == o.steps:
                break
        if o.evaluate:
            test = evaluate(model, *read(o.data, ["test_batch.bin"], side), o)
            tell(out, type="evaluation", step=step, epoch=epoch, **test, seconds=time.time() - begin)
        if step == o.steps:
            break


def parameters(model, o):
    """(name, tensor) as gpumap-train names them."""
    if o.model not in MODELS:
        yield from model.state_dict().items()
        return
    layers = [m for m in model if isinstance(m, (nn.Conv2d, nn.Linear))]
    for name, layer in zip(NAMES[o.model], layers):
        yield name + ".weight", layer.weight
        yield name + ".bias", layer.bias


def load(model, o):
    import read_safetensors
    tensors, _ = read_safetensors.read(o.load)
    with torch.no_grad():
        for name, parameter in parameters(model, o):
            dtype, shape, data = tensors[name]
            dtype = torch.int64 if dtype == "I64" else torch.float32
            parameter.copy_(torch.frombuffer(bytearray(data), dtype=dtype).view(shape))


def save(model, o):
    header, data = {}, b""
    for name, parameter in parameters(model, o):
        whole = parameter.dtype == torch.int64
        part = (parameter if whole else parameter.float()).detach().contiguous().numpy().tobytes()
        header["module." + name] = {"dtype": "I64" if whole else "F32", "shape": list(parameter.shape),
                                    "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    with open(o.save, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def run(o, out):
    torch.set_num_threads(o.threads)
    torch.manual_seed(o.seed)
    model = MODELS[o.model]() if o.model in MODELS else resnet.resnet(o.model, side_of(o))
    if o.load:
        load(model, o)
    if o.double:
        model = model.double()
    if o.channels_last:
        model = model.to(memory_format=torch.channels_last)
    if o.logits:
        images, _ = read(o.data, ["test_batch.bin"], side_of(o))
        model.eval()
        with torch.no_grad():
            out.buffer.write(model(normalised(images[:o.logits])).numpy().tobytes())
    else:
        with torch.backends.mkldnn.flags(enabled=not o.plain):
            train(model, o, out)
    if o.save:
        save(model, o)


def main():
    if sys.argv[1:] != ["-"]:
        run(options(sys.argv[1:]), sys.stdout)
        return
    for line in sys.stdin:
        path, *arguments = line.split()
        with open(path, "w") as out:
            run(options(arguments), out)


main()
