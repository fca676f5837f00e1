/* SPDX-License-Identifier: MIT */
/*
 * --verify-mapping against the library of `gpumap pretend`. That is loaded by its path, after which
 * dlopen of libnvidia-ml.so.1 finds it by its name.
 */
#ifndef TRAIN_TEST_VERIFY_H
#define TRAIN_TEST_VERIFY_H

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rank-threads.h"
#include "place/verify.h"

#define UUID "GPU-5eed0000-0000-4000-8000-00000000000"
#define MIG "MIG-5eed0000-0000-4000-8000-0000000000a"
#define GPU(n) \
	{ \
		.physical = n, .uuid = UUID #n \
	}
#define PART(n, m) \
	{ \
		.physical = n, .uuid = MIG #m \
	}
#define NUMBER(n) \
	{ \
		.physical = n \
	}
#define AT(n) "GPU " #n " (0000:1" #n ":00.0, " UUID #n ")"

static const char whole[] = "index, uuid, name, pci.bus_id, memory.total [MiB]\n"
			    "0, " UUID "0, NVIDIA H100, 00000000:10:00.0, 81559 MiB\n"
			    "1, " UUID "1, NVIDIA H100, 00000000:11:00.0, 81559 MiB\n"
			    "2, " UUID "2, NVIDIA H100, 00000000:12:00.0, 81559 MiB\n"
			    "3, " UUID "3, NVIDIA H100, 00000000:13:00.0, 81559 MiB\n"
			    "4, " UUID "4, NVIDIA H100, 00000000:14:00.0, 81559 MiB\n"
			    "5, " UUID "5, NVIDIA H100, 00000000:15:00.0, 81559 MiB\n"
			    "6, " UUID "6, NVIDIA H100, 00000000:16:00.0, 81559 MiB\n"
			    "7, " UUID "7, NVIDIA H100, 00000000:17:00.0, 81559 MiB\n";

#define BY_PROCESS \
	"verified after the first step (NVML, by process): memory is on the GPUs it names, and " \
	"on no other"
#define BY_DIFFERENCE \
	"verified after the first step (NVML, by what GPUs have in use, as process ids are " \
	"hidden): memory is on the GPUs it names, and on no other"
#define STRAY_REMEDY \
	", where the mapping does not put it (rule G5); set the device before anything else asks " \
	"CUDA, or give each rank only its own GPU: gpumap run --share isolate"
#define NOTHING_REMEDY "look at CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER"

/* A file without a name, so that nothing of it is left. */
static int use_file;

static inline void write_use(const char *text)
{
	ck_assert(ftruncate(use_file, 0) == 0);
	ck_assert(pwrite(use_file, text, strlen(text), 0) == (ssize_t)strlen(text));
}

/* The library stays: each test is a process. */
static inline void pretend(const char *machine, const char *use)
{
	char path[64];

	ck_assert_msg(dlopen(PRETENDED, RTLD_NOW | RTLD_LOCAL), "%s", dlerror());
	use_file = memfd_create("use", 0);
	ck_assert(use_file >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", use_file);
	write_use(use);
	setenv("GPUMAP_PRETEND_TEXT", machine, 1);
	setenv("GPUMAP_PRETEND_USE", path, 1);
}

#endif
