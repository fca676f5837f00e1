# Trains on several GPUs in one process with DataParallel. The first GPU of the list is the master: it has the
# parameters, gathers the outputs and computes the loss.
#
#	CUDA_VISIBLE_DEVICES=2,1,3 python3 data_parallel.py
#
# Here the master is physical GPU 2. To choose another one, reorder the list. The code needs no device_ids.
import argparse
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def generated_data(count=512, classes=4):
    """Noisy points around one centre for each class: nothing to download, and easy to learn."""
    generator = torch.Generator().manual_seed(1)
    labels = torch.randint(classes, (count,), generator=generator)
    centres = torch.randn(classes, 16, generator=generator)
    return TensorDataset(centres[labels] + 0.5 * torch.randn(count, 16, generator=generator), labels)


def in_parts(net, samples, count=2):
    """What DataParallel does, on the CPU: it splits a batch, computes the parts, and gathers the outputs."""
    return torch.cat([net(part) for part in samples.chunk(count)])


def save(path, net, optimizer, epoch):
    """Writes another file first, so that an interrupted run leaves the last checkpoint whole."""
    torch.save({"epoch": epoch, "net": net.state_dict(), "optimizer": optimizer.state_dict()}, path + ".new")
    os.replace(path + ".new", path)


def load(path, net, optimizer, device):
    """Returns the epoch to continue with. Without map_location, tensors return to the GPU that they were saved from."""
    checkpoint = torch.load(path, map_location=device, weights_only=True)
    net.load_state_dict(checkpoint["net"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["epoch"] + 1


def main():
    parser = argparse.ArgumentParser(description="Trains a small model with DataParallel.")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=64, help="samples in a batch, for all GPUs together")
    parser.add_argument("--checkpoint", help="file to save to after each epoch")
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint")
    args = parser.parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU here; --device cpu trains on the CPU")
    if args.resume and not args.checkpoint:
        parser.error("--resume needs --checkpoint FILE")

    device = torch.device(args.device)
    torch.manual_seed(1)
    loader = DataLoader(generated_data(), batch_size=args.batch, shuffle=True)
    # The module has to be on the master, cuda:0. DataParallel copies it to the others in each step.
    net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)).to(device)
    replicas = nn.DataParallel(net) if args.device == "cuda" else None
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)

    first = load(args.checkpoint, net, optimizer, device) if args.resume else 0
    for epoch in range(first, args.epochs):
        total = 0.0
        for samples, labels in loader:
            samples, labels = samples.to(device), labels.to(device)
            outputs = replicas(samples) if replicas is not None else in_parts(net, samples)
            loss = loss_function(outputs, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}", flush=True)
        # net is the module inside DataParallel, so no key of the checkpoint begins with "module.", and one GPU or
        # the CPU can load it too.
        if args.checkpoint:
            save(args.checkpoint, net, optimizer, epoch)


main()
