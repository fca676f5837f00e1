# Trains a model that is cut into stages, each on another GPU, in one process (model parallel). That is for models
# that are too large for one GPU. Each GPU has only its stage, and passes its output to the next:
#
#	CUDA_VISIBLE_DEVICES=2,3,5 python3 pipeline.py
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def generated_data(count=512, classes=4):
    """Noisy points around one centre for each class: nothing to download, and easy to learn."""
    generator = torch.Generator().manual_seed(1)
    labels = torch.randint(classes, (count,), generator=generator)
    centres = torch.randn(classes, 16, generator=generator)
    return TensorDataset(centres[labels] + 0.5 * torch.randn(count, 16, generator=generator), labels)


class Pipeline(nn.Module):
    """Stages on devices. A batch passes in several parts, so that one stage can work on a part while the next stage
    works on the part before: CUDA calls return before the GPU has finished."""

    def __init__(self, stages, devices, parts=4):
        super().__init__()
        self.stages = nn.ModuleList(stage.to(device) for stage, device in zip(stages, devices))
        self.devices = devices
        self.parts = parts

    def forward(self, samples):
        outputs = []
        for part in samples.chunk(self.parts):
            for stage, device in zip(self.stages, self.devices):
                # Backward takes the same way back: .to() passes the gradient to the device that the part came from.
                part = stage(part.to(device, non_blocking=True))
            outputs.append(part)
        return torch.cat(outputs)


def devices_for(stages, name):
    """One device for each stage. With fewer GPUs than stages, the last GPU has the stages that are left."""
    if name == "cpu":
        return [torch.device("cpu")] * len(stages)
    count = torch.cuda.device_count()
    return [torch.device("cuda", min(number, count - 1)) for number in range(len(stages))]


def main():
    parser = argparse.ArgumentParser(description="Trains a small model in stages on several GPUs.")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU here; --device cpu trains on the CPU")

    torch.manual_seed(1)
    stages = [nn.Sequential(nn.Linear(16, 64), nn.ReLU()), nn.Sequential(nn.Linear(64, 64), nn.ReLU()), nn.Linear(64, 4)]
    devices = devices_for(stages, args.device)
    net = Pipeline(stages, devices)
    print("stages on " + ", ".join(map(str, devices)), flush=True)
    loader = DataLoader(generated_data(), batch_size=32, shuffle=True)
    loss_function = nn.CrossEntropyLoss()
    # One optimizer for all stages. No process group is needed, because there is one process.
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    for epoch in range(args.epochs):
        total = 0.0
        for samples, labels in loader:
            optimizer.zero_grad()
            # The outputs are on the last device, so the labels go there.
            loss = loss_function(net(samples), labels.to(devices[-1]))
            loss.backward()  # no retain_graph: each batch has a graph of its own
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}", flush=True)


main()
