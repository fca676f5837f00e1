# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034,SC2154 # its variables are for the tests, and from tests/cli/lib.sh
#
# For tests that train on pretended GPUs. After tests/trainer/cli/compare.sh:
#
#	$train	gpumap-train with pretended GPUs	$cpu		the plain one
#	$gpus	options that place it on four of them	$common	options of a short training

cpu=$train
train=$builddir/tests/trainer/fake/train-fake
[ -x "$train" ] || skip_all 'NOTHING IS TRAINED ON GPUS: built without CUDA, cuDNN or cuBLASLt'

FAKE_CUDA_DEVICES=4
export FAKE_CUDA_DEVICES
# In a pretended GPU's UUID each byte is one more than the byte before it.
cat >machine <<'END'
GPU 0: NVIDIA H200 (UUID: GPU-01020304-0506-0708-090a-0b0c0d0e0f10)
GPU 1: NVIDIA H200 (UUID: GPU-12131415-1617-1819-1a1b-1c1d1e1f2021)
GPU 2: NVIDIA H200 (UUID: GPU-23242526-2728-292a-2b2c-2d2e2f303132)
GPU 3: NVIDIA H200 (UUID: GPU-34353637-3839-3a3b-3c3d-3e3f40414243)
END
gpus='--backend cuda --inventory machine'
common='--model net28 --samples 300 --global-batch 32 --steps 12 --epochs 100 --optimizer sgd
	--lr 0.01 --evaluate-every 0'
