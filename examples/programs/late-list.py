# Chooses GPUs in code, but after the first CUDA call: gpumap lint reports it.
import os

import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
os.environ["CUDA_VISIBLE_DEVICES"] = "4,5"
net = torch.nn.DataParallel(torch.nn.Linear(8, 2)).to(device)
