# SPDX-License-Identifier: MIT
"""Trains a small model with DistributedDataParallel over gloo, without any GPU.

ddp.py [--style env|argument] [--steps N] [--die RANK:STEP:EXIT-STATUS|SIGNAL]

The styles are the two that programs of today have: the local rank is in the environment, or
it is an argument that the launcher appends. Each rank prints where it would go, then its
loss after each step, which is the same however it was started.
"""
import argparse
import os
import signal

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def read_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument('--style', choices=['env', 'argument'], default='env')
    parser.add_argument('--steps', type=int, default=5)
    parser.add_argument('--die', metavar='RANK:STEP:HOW')
    parser.add_argument('--local_rank', '--local-rank', type=int)
    arguments = parser.parse_args()
    if arguments.style == 'argument' and arguments.local_rank is None:
        parser.error('no launcher passed --local_rank')
    if arguments.style == 'env':
        arguments.local_rank = int(os.environ['LOCAL_RANK'])
    return arguments


def say_place(local_rank):
    """The entry that cuda:LOCAL_RANK is, if there were GPUs."""
    visible = os.environ.get('CUDA_VISIBLE_DEVICES')
    entries = visible.split(',') if visible else []
    entry = entries[local_rank] if local_rank < len(entries) else '-'
    print(f'rank {dist.get_rank()} of {dist.get_world_size()} local {local_rank} entry {entry} '
          f'of {visible} at {os.environ["MASTER_ADDR"]}:{os.environ["MASTER_PORT"]}', flush=True)


def die_if_told(die, step):
    if not die:
        return
    rank, when, how = die.split(':')
    if int(rank) != dist.get_rank() or int(when) != step:
        return
    if how.isdigit():
        os._exit(int(how))
    os.kill(os.getpid(), signal.Signals[how])


def train(arguments):
    rank = dist.get_rank()
    torch.manual_seed(1)  # all ranks begin with one model
    layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    model = DistributedDataParallel(layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(100 + rank)  # and have different samples
    for step in range(arguments.steps):
        die_if_told(arguments.die, step)
        samples = torch.randn(32, 8)
        loss = torch.nn.functional.mse_loss(model(samples), samples.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f'rank {rank} step {step} loss {loss.item():.6f}', flush=True)


def main():
    arguments = read_arguments()
    torch.set_num_threads(1)
    if arguments.style == 'env':
        dist.init_process_group('gloo', init_method='env://')
    else:
        dist.init_process_group('gloo', init_method='env://', rank=arguments.local_rank,
                                world_size=int(os.environ['WORLD_SIZE']))
    say_place(arguments.local_rank)
    train(arguments)
    dist.destroy_process_group()


main()
