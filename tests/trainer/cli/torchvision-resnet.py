# SPDX-License-Identifier: MIT
"""torchvision-resnet.py: torchvision's own ResNets, beside resnet.py and files of gpumap-train.

    ours			resnet.py has the same names, shapes, first weights and logits
    save MODEL SEED FILE	its first state_dict, written by safetensors
    load MODEL SEED CHECKPOINT	a checkpoint is a state_dict of the model, and has its logits
"""
import sys
from unittest import mock

import torch
import torchvision
from safetensors.torch import load_file, save_file
from torch import nn

import resnet


class SmallStem(nn.Conv2d):
    """As usual for images of 32 x 32: torchvision's first convolution, 7 x 7 with stride 2, is 3 x 3."""

    def __init__(self, inputs, outputs, kernel_size, stride=1, padding=0, **others):
        if kernel_size == 7:
            kernel_size, stride, padding = 3, 1, 1
        super().__init__(inputs, outputs, kernel_size, stride, padding, **others)


def model_of(name, size, seed):
    torch.manual_seed(seed)
    if size >= resnet.LARGE:
        return torchvision.models.get_model(name)
    with mock.patch.object(nn, "Conv2d", SmallStem):
        model = torchvision.models.get_model(name, num_classes=10)
    model.maxpool = nn.Identity()
    return model


def check_same(what, a, b):
    if list(a) != list(b):
        sys.exit(f"{what}: {list(a)[:8]}... and {list(b)[:8]}...")
    for key in a:
        if not torch.equal(a[key], b[key]):
            sys.exit(f"{what}: {key}, {tuple(a[key].shape)} and {tuple(b[key].shape)}, differs")


def logits(model, size):
    torch.manual_seed(0)
    images = torch.randn(2, 3, size, size)
    with torch.no_grad():
        return {"training": model.train()(images), "evaluation": model.eval()(images)}


def compare_ours(name, size, seed):
    theirs = model_of(name, size, seed)
    torch.manual_seed(seed)
    ours = resnet.resnet(name, size)
    what = f"{name}, {size} x {size}, seed {seed}"
    check_same(what, theirs.state_dict(), ours.state_dict())
    check_same(what, logits(theirs, size), logits(ours, size))
    print(what, "is the same")


def load(name, seed, path):
    theirs, loaded = model_of(name, resnet.LARGE, seed), model_of(name, resnet.LARGE, seed + 1)
    state = {key: value for key, value in load_file(path).items() if not key.startswith("optimizer.")}
    loaded.load_state_dict(state)
    check_same(path, dict(theirs.named_parameters()), dict(loaded.named_parameters()))
    for model in theirs, loaded:
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.reset_running_stats()
    check_same(path, logits(theirs, resnet.LARGE), logits(loaded, resnet.LARGE))
    print(f"{len(state)} tensors are those of {name}")


def main():
    command, *arguments = sys.argv[1:]
    if command == "ours":
        for name in "resnet18", "resnet50":
            for seed in 1, 2, 3:
                compare_ours(name, 32, seed)
                compare_ours(name, resnet.LARGE, seed)
        return
    name, seed, path = arguments[0], int(arguments[1]), arguments[2]
    if command == "save":
        save_file(model_of(name, resnet.LARGE, seed).state_dict(), path)
    else:
        load(name, seed, path)


main()
