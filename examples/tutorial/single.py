# Trains a small model on one GPU. The GPU is chosen before the start, and the code stays the same:
#
#	CUDA_VISIBLE_DEVICES=2 python3 single.py
#
# Physical GPU 2 is then the only one that this process sees, and its name here is cuda:0.
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


def main():
    parser = argparse.ArgumentParser(description="Trains a small model on one GPU.")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU here; --device cpu trains on the CPU")

    # "cuda" without a number is the current device, which is cuda:0 unless the program changes it.
    device = torch.device(args.device)
    torch.manual_seed(1)
    loader = DataLoader(generated_data(), batch_size=32, shuffle=True)
    # .to() moves a module in place, but returns a new tensor. The optimizer is made after the move.
    net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)).to(device)
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)

    for epoch in range(args.epochs):
        total = 0.0
        for samples, labels in loader:
            samples, labels = samples.to(device), labels.to(device)
            optimizer.zero_grad()
            loss = loss_function(net(samples), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}", flush=True)
    print(f"the model is on {next(net.parameters()).device}")


main()
