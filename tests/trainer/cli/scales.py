# SPDX-License-Identifier: MIT
"""scales.py FILE [SCALE GOOD]: the scales in a file of metrics are GradScaler's.

GradScaler halves the scale where gradients were not finite and leaves the step out, and doubles it
after 2,000 good steps in a row. It begins with 65536 and no good steps, or with SCALE and GOOD.
Prints how many steps were left out and how often it grew.
"""
import json
import sys

import torch

INTERVAL = 2000


class Rule:
    """GradScaler without a GPU, which PyTorch before 2.3 has not."""

    def __init__(self, scale, good):
        self.scale, self.good = scale, good

    def update(self, finite):
        self.good = self.good + 1 if finite else 0
        self.scale *= 1.0 if finite else 0.5
        if self.good == INTERVAL:
            self.scale, self.good = self.scale * 2.0, 0


class Torch:
    def __init__(self, scale, good):
        self.scaler = torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=INTERVAL)
        self.scaler.scale(torch.zeros(1))
        self.scaler._growth_tracker.fill_(good)
        self.parameter = torch.nn.Parameter(torch.zeros(1))
        self.optimizer = torch.optim.SGD([self.parameter], 1.0)

    @property
    def scale(self):
        return self.scaler.get_scale()

    def update(self, finite):
        self.parameter.grad = torch.tensor([0.0 if finite else float("inf")])
        self.scaler.step(self.optimizer)
        self.scaler.update()


def main():
    kind = Torch if hasattr(torch.amp, "GradScaler") else Rule
    with open(sys.argv[1]) as file:
        lines = [line for line in map(json.loads, file) if line["type"] == "step"]
    scale, good = float(sys.argv[2] if len(sys.argv) > 2 else 65536), int(sys.argv[3] if len(sys.argv) > 3 else 0)
    scaler, skipped, grown = kind(scale, good), 0, 0
    for line in lines:
        if line["scale"] != scaler.scale:
            sys.exit(f"step {line['step']}: the scale is {line['scale']}, GradScaler's {scaler.scale}")
        before = scaler.scale
        scaler.update(not line["skipped"])
        skipped += line["skipped"]
        grown += scaler.scale > before
    print(f"{len(lines)} steps, {skipped} left out, grown {grown} times, by {kind.__name__}")


main()
