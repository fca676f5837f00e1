#!/bin/sh
# Starts ddp.py with torchrun: two ranks on this machine. Run it in this folder:
#
#	CUDA_VISIBLE_DEVICES=2,3 sh torchrun.sh --epochs 10
#
# torchrun gives the ranks their numbers. It chooses no GPUs: rank 0 takes the first GPU of the list, rank 1 the second,
# because ddp.py calls set_device with its local rank. --standalone takes a free port, so two jobs do not meet.
set -eu

torchrun --standalone --nproc-per-node=2 ddp.py "$@"
