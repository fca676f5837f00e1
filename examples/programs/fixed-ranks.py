# Sets in code what the launcher sets: gpumap lint reports it.
import os

import torch
import torch.distributed as dist

os.environ["WORLD_SIZE"] = "4"
os.environ["MASTER_ADDR"] = "127.0.0.1"
os.environ["MASTER_PORT"] = "29500"
dist.init_process_group("nccl")
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
net = torch.nn.Linear(8, 2).cuda()
model = torch.nn.parallel.DistributedDataParallel(net, device_ids=[local_rank])
