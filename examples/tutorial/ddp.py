# Trains with DistributedDataParallel: one process (rank) for each GPU, on one machine or several. A launcher starts
# the ranks and gives each its number:
#
#	torchrun --standalone --nproc-per-node=2 ddp.py
#	gpumap run ddp.py
#
# The code never sets CUDA_VISIBLE_DEVICES, RANK, WORLD_SIZE or MASTER_PORT: these are the launcher's.
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def generated_data(count=512, classes=4):
    """Noisy points around one centre for each class: nothing to download, and the same in every rank."""
    generator = torch.Generator().manual_seed(1)
    labels = torch.randint(classes, (count,), generator=generator)
    centres = torch.randn(classes, 16, generator=generator)
    return TensorDataset(centres[labels] + 0.5 * torch.randn(count, 16, generator=generator), labels)


def mean_of_all(total, count, device):
    """The mean over the samples of all ranks, for the report. The gradients are averaged by DDP itself."""
    sums = torch.tensor([total, count], dtype=torch.float64, device=device)
    dist.all_reduce(sums)
    return (sums[0] / sums[1]).item()


def save(path, net, optimizer, scaler, epoch):
    """Global rank 0 writes for all. Local rank 0 would be one writer on each machine."""
    if dist.get_rank() == 0:
        state = {"epoch": epoch, "net": net.state_dict(), "optimizer": optimizer.state_dict(),
                 "scaler": scaler.state_dict()}
        # Another file first, so that an interrupted run leaves the last checkpoint whole.
        torch.save(state, path + ".new")
        os.replace(path + ".new", path)
        print(f"rank 0 saved epoch {epoch}", flush=True)
    # No rank continues, or ends, before the file is there.
    dist.barrier()


def load(path, net, optimizer, scaler, device):
    """Returns the epoch to continue with. Without map_location every rank would load onto the GPU of rank 0."""
    checkpoint = torch.load(path, map_location=device, weights_only=True)
    net.load_state_dict(checkpoint["net"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    if checkpoint["scaler"]:  # the CPU saves none
        scaler.load_state_dict(checkpoint["scaler"])
    return checkpoint["epoch"] + 1


def train_epoch(model, loader, optimizer, scaler, device):
    """One pass over this rank's part of the data. Returns the sum of its losses, and their number."""
    loss_function = nn.CrossEntropyLoss()
    # float16 is fast on GPUs but has a small range, so the scaler multiplies the loss. The CPU's bfloat16 needs none.
    half = torch.float16 if device.type == "cuda" else torch.bfloat16
    total = 0.0
    for samples, labels in loader:
        samples = samples.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        optimizer.zero_grad()
        # Only the forward pass and the loss are inside autocast.
        with torch.autocast(device.type, dtype=half):
            loss = loss_function(model(samples), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # leaves the step out if a gradient is infinite or not a number
        scaler.update()
        total += loss.item() * len(samples)
    return total, len(loader.sampler)


def train(args, device):
    data = generated_data()
    # The sampler gives each rank its own part of the samples and shuffles, so the loader must not shuffle again.
    sampler = DistributedSampler(data, shuffle=True)
    loader = DataLoader(data, batch_size=args.batch, sampler=sampler, pin_memory=device.type == "cuda")

    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)).to(device)
    # The module is on this rank's device already, and DDP uses that device.
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler(device.type, enabled=device.type == "cuda")

    first = load(args.checkpoint, net, optimizer, scaler, device) if args.resume else 0
    for epoch in range(first, args.epochs):
        sampler.set_epoch(epoch)  # otherwise each epoch has the same order
        total, count = train_epoch(model, loader, optimizer, scaler, device)
        mean = mean_of_all(total, count, device)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} loss {mean:.4f}", flush=True)
        if args.checkpoint:
            save(args.checkpoint, net, optimizer, scaler, epoch)


def main():
    parser = argparse.ArgumentParser(description="Trains a small model with DistributedDataParallel.")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32, help="samples in a batch of each rank")
    parser.add_argument("--checkpoint", help="file to save to after each epoch")
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint")
    args = parser.parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU here; --device cpu trains on the CPU")
    if args.resume and not args.checkpoint:
        parser.error("--resume needs --checkpoint FILE")
    if "RANK" not in os.environ:
        parser.error("this is no rank: start the program with torchrun or gpumap run, as its first lines show")

    if args.device == "cuda":
        # The local rank counts the ranks of this machine. The launcher puts it into the environment.
        local_rank = int(os.environ["LOCAL_RANK"])
        device = torch.device("cuda", local_rank)
        # Before the first CUDA or NCCL call: otherwise each rank also takes some 500 MB of cuda:0.
        torch.cuda.set_device(device)
        dist.init_process_group("nccl", device_id=device)
    else:
        device = torch.device("cpu")
        dist.init_process_group("gloo")
    print(f"rank {dist.get_rank()} of {dist.get_world_size()} uses {device}", flush=True)
    train(args, device)
    dist.destroy_process_group()


main()
