/* SPDX-License-Identifier: MIT */
/*
 * The memory in use on the GPUs of this machine, from NVIDIA's management library (NVML), which
 * creates no CUDA context and ignores CUDA_VISIBLE_DEVICES.
 */
#ifndef TRAIN_PLACE_GPU_MEMORY_H
#define TRAIN_PLACE_GPU_MEMORY_H

#include <stdint.h>

#include "base/error.h"

enum { GPU_UUID = 96, GPU_PCI = 24, GPU_WHY = 64 };

/* A GPU, or an instance of one in MIG mode: the GPU itself is left out then. */
struct gpu_use {
	int index;               /* nvidia-smi's number of the GPU */
	int mig;                 /* of the instance, from 0; -1: all of the GPU */
	int gi;                  /* its GPU instance, whose memory it uses; -1 */
	char pci[GPU_PCI];       /* "0000:5e:00.0" */
	char uuid[GPU_UUID];     /* "GPU-..." or "MIG-..." */
	char gpu_uuid[GPU_UUID]; /* of the GPU that it is part of; "": not known */
	char why[GPU_WHY];       /* it cannot be read: nothing below is known; "" */
	int64_t used;            /* bytes that all processes use; -1: not known */
	int64_t hidden;          /* of these, of no process that is listed; -1: not known */
	bool listed;             /* the list of its processes is known */
	bool own;                /* the process is among them */
	int64_t own_bytes;       /* its bytes; -1: not known */
};

/* All GPUs of NVML, in its order; the last ones may be some that do not answer, of which only the
 * number and the reason are known. `pid` is the process to look for. The caller frees *uses.
 * TRAIN_NO_BACKEND: NVML does not answer. */
bool gpu_memory_read(int pid, struct gpu_use **uses, int *count, struct train_error *error);

#endif
