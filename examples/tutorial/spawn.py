# Trains with DistributedDataParallel on one machine without a launcher: the program starts its ranks itself, by
# mp.spawn. So start it once, by python3, and never by torchrun, which would start it several times:
#
#	CUDA_VISIBLE_DEVICES=2,3 python3 spawn.py
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
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


def train(rank, ranks, meeting, args):
    """What each process runs. mp.spawn puts its number, from 0, before the other arguments."""
    if args.device == "cuda":
        # On a single machine the rank is also the number of the GPU in the visible list.
        device = torch.device("cuda", rank)
        torch.cuda.set_device(device)
        backend = "nccl"
    else:
        device = torch.device("cpu")
        backend = "gloo"
    # The ranks meet in a file. So there is no port that another job could have taken, and no MASTER_ADDR to set.
    dist.init_process_group(backend, init_method=f"file://{meeting}", rank=rank, world_size=ranks)

    data = generated_data()
    sampler = DistributedSampler(data, shuffle=True)
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    torch.manual_seed(1)
    # First to the GPU, then into DDP.
    net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4)).to(device)
    model = DistributedDataParallel(net)
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros((), device=device)
        for samples, labels in loader:
            optimizer.zero_grad()
            loss = loss_function(model(samples.to(device)), labels.to(device))
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch} loss {total.item() / (ranks * len(loader)):.4f}", flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description="Trains a small model, with ranks that it starts itself.")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU here; --device cpu trains on the CPU")

    ranks = torch.cuda.device_count() if args.device == "cuda" else 2
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(ranks, os.path.join(folder, "meeting"), args), nprocs=ranks)


# The new processes import this file too, and must not start more of them.
if __name__ == "__main__":
    main()
