import os
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
local_rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local_rank)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1024, 10).cuda())
batch = torch.rand(8, 1024, device="cuda:2")
print(dist.get_rank(), model(batch).shape)
