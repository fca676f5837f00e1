# SPDX-License-Identifier: MIT
"""ResNet-18 of torchvision with augmented images, autocast and a scaler of gradients, under a launcher.

resnet.py cpu|cuda [sync]: SyncBatchNorm
"""
import os
import sys

import torch
import torch.distributed as dist
import torchvision
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision.transforms import v2

local_rank = int(os.environ["LOCAL_RANK"])
device = torch.device(sys.argv[1])
if device.type == "cuda":
    torch.cuda.set_device(local_rank)
torch.set_num_threads(1)
dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
torch.manual_seed(0)
change = v2.Compose([v2.PILToTensor(), v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True),
                     v2.Normalize([0.5], [0.5])])
data = torchvision.datasets.FakeData(32, (3, 64, 64), 10, change)
model = torchvision.models.resnet18(num_classes=10)
if "sync" in sys.argv:
    model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
model = DistributedDataParallel(model.to(device), device_ids=[local_rank] if device.type == "cuda" else None)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=8)
scaler = torch.amp.GradScaler(device.type)
sampler = DistributedSampler(data)
loader = DataLoader(data, 4, sampler=sampler, num_workers=1, pin_memory=device.type == "cuda")
for epoch in range(2):
    sampler.set_epoch(epoch)
    for images, labels in loader:
        images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        with torch.autocast(device.type, torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        if dist.get_rank() == 0:
            print("epoch %d loss %.9g scale %g" % (epoch, loss.item(), scaler.get_scale()), flush=True)
sys.stdout.write("rank %d on %s\n" % (dist.get_rank(), loss.device))
sys.stdout.flush()
dist.destroy_process_group()
