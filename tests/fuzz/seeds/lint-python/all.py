import os
import torch
import torch.nn as nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
args = parser.parse_args()
os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"
os.environ["MASTER_PORT"] = '29500'
os.environ['WORLD_SIZE'] = "4"
os.environ["CUDA_VISABLE_DEVICES"] = "0"
rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", init_method="tcp://127.0.0.1:23456")
net = nn.Linear(3, 4).cuda()
net = DDP(net, device_ids=[0])
x = torch.zeros(3).to(f"cuda:{dist.get_rank()}")
y = torch.device("cuda:%d" % (rank % torch.cuda.device_count()))
m = nn.Linear(3,4).cuda(1)
m = nn.DataParallel(m, device_ids=[0,1])
z = nn.DataParallel(nn.Linear(2,3).cuda(), device_ids=[2,3])
os.environ["CUDA_VISIBLE_DEVICES"] = str(args.local_rank)
