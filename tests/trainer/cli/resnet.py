# SPDX-License-Identifier: MIT
"""ResNet-18 and ResNet-50 with torchvision's names, order and first weights, by PyTorch alone."""
from collections import OrderedDict

from torch import nn

LARGE = 64  # from this size of images on: torchvision's first convolution and classes


def convolution(inputs, outputs, kernel, stride=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)


class Block(nn.Module):
    """layers: (outputs, kernel, stride) of each convolution."""

    def __init__(self, inputs, layers):
        super().__init__()
        self.count = len(layers)
        outputs, stride = layers[-1][0], max(layer[2] for layer in layers)
        width = inputs
        for i, (out, kernel, step) in enumerate(layers, 1):
            setattr(self, f"conv{i}", convolution(width, out, kernel, step))
            setattr(self, f"bn{i}", nn.BatchNorm2d(out))
            width = out
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = x
        for i in range(1, self.count + 1):
            y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
            y = nn.functional.relu(y) if i < self.count else y
        return nn.functional.relu(y + (self.downsample(x) if self.downsample else x))


def layer(inputs, width, blocks, stride, bottleneck):
    made = []
    for i in range(blocks):
        step = stride if i == 0 else 1
        layers = ([(width, 1, 1), (width, 3, step), (4 * width, 1, 1)] if bottleneck
                  else [(width, 3, step), (width, 3, 1)])
        made.append(Block(inputs, layers))
        inputs = layers[-1][0]
    return nn.Sequential(*made), inputs


def resnet(name, size):
    bottleneck = name == "resnet50"
    large = size >= LARGE
    parts = [("conv1", convolution(3, 64, 7, 2) if large else convolution(3, 64, 3)),
             ("bn1", nn.BatchNorm2d(64)), ("relu", nn.ReLU())]
    if large:
        parts.append(("maxpool", nn.MaxPool2d(3, 2, 1)))
    inputs = 64
    for i, blocks in enumerate((3, 4, 6, 3) if bottleneck else (2, 2, 2, 2)):
        part, inputs = layer(inputs, 64 << i, blocks, 1 if i == 0 else 2, bottleneck)
        parts.append((f"layer{i + 1}", part))
    parts += [("avgpool", nn.AdaptiveAvgPool2d(1)), ("flatten", nn.Flatten()),
              ("fc", nn.Linear(inputs, 1000 if large else 10))]
    model = nn.Sequential(OrderedDict(parts))
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return model
