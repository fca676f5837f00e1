# SPDX-License-Identifier: MIT
"""Calls of which PyTorch warns: once for each line, or as a filter says. warned.py DEVICE"""
import sys
import warnings

import torch
import torch.nn.functional as F

device = sys.argv[1]
warnings.showwarning = lambda message, category, file, line, *rest: print("%s:%d: %s" % (file, line, message))
x = torch.ones(3, 3, device=device)
for _ in range(2):
    F.softmax(x)
F.softmax(x)
F.mse_loss(x, torch.ones(3, 1, device=device))
torch.tensor(x)
x[0].T.T
torch.cross(x, x)
torch.meshgrid(x[0], x[1])
(x.requires_grad_() * 2).grad
warnings.simplefilter("once")
for _ in range(2):
    F.softmax(x)
F.softmax(x)
warnings.filterwarnings("ignore", module="__main__")
F.softmax(x)
warnings.simplefilter("error")
try:
    F.softmax(x)
except UserWarning as error:
    print(error)
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as seen:
    F.softmax(x)
print([(warning.filename, warning.lineno) for warning in seen])
