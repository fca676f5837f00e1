#!/bin/sh
export CUDA_VISIBLE_DEVICES=2,3
torchrun --nproc-per-node 2 examples/programs/stray-ddp.py
