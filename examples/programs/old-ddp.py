# A training program with common mistakes: gpumap lint reports them.
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
args = parser.parse_args()

os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"
os.environ["MASTER_PORT"] = "29500"
dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
model = DistributedDataParallel(torch.nn.Linear(8, 2).cuda(), device_ids=[args.local_rank])
