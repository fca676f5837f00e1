# SPDX-License-Identifier: MIT
"""Rank 0 starts rank 1 when it is there itself, and both need longer to begin than a rank waits for others unsaid"""
import os
import socket
import subprocess
import sys
import time

import torch
import torch.distributed as dist

rank = int(os.environ.setdefault("RANK", "0"))
os.environ.update(LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1")
other = None
time.sleep(16)
if rank == 0:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ["MASTER_PORT"] = str(free.getsockname()[1])
    other = subprocess.Popen([sys.executable, __file__], env=dict(os.environ, RANK="1"))
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
dist.barrier()
sys.stdout.write("rank %d is there\n" % rank)
sys.stdout.flush()
dist.destroy_process_group()
if other:
    sys.exit(other.wait())
