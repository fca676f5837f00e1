/* SPDX-License-Identifier: MIT */
/* An NVML made of plain functions, whose answers a test chooses. */
#ifndef GM_FAKE_NVML_H
#define GM_FAKE_NVML_H

#include "inventory/nvml.h"

enum { MAX = 8, SWITCH = 100, NPU = 101, OFF = 0, NO_MIG = -1 };

/* A process in the lists of a device: a GPU's index, or an instance's number (100 + 10 * GPU + 1
 * for the first). */
struct fake_process {
	unsigned int device, pid, mib, lists; /* mib NO_MIB: not reported; bits by enum nvml_list */
	unsigned int gi, ci;
};

enum { NO_MIB = -1, MAX_FAKE_PROCESSES = 2000 };

/* How the devices are used. */
struct fake_use {
	const struct fake_process *processes;
	size_t count, entry;           /* entry: its bytes; 0: as usual */
	unsigned int used, reserved;   /* MiB of each GPU */
	unsigned int refusing;         /* the number of a device + 1 */
	enum nvml_return memory, list; /* what that one answers */
	enum nvml_return lists[3];     /* what each answers for that list */
	enum nvml_return utilization, temperature, mode;
	unsigned int percent, celsius;
	int mode_number;
	const struct nvml_sample *samples;
	unsigned int sample_count;
	enum nvml_return sampled; /* what the query for samples answers */
	int lost_after;           /* queries until the GPUs are lost; -1: never */
	int queries;
};

/* What the made-up library answers. */
struct fake {
	unsigned int count;
	enum nvml_return init, count_code, handle[MAX], uuid[MAX], minor;
	enum nvml_return link_state;   /* of links that are not there */
	enum nvml_link_type link_type; /* of links to a switch */
	int links[MAX][3];             /* index of the GPU + 1, SWITCH, NPU, or 0: none */
	int mig[MAX];                  /* instances; OFF, NO_MIG */
	int open;                      /* calls of init minus calls of shutdown */
	struct fake_use use;
};

extern struct fake fake;

/* All functions, or those that a driver of 2013 has. */
struct nvml fake_library(bool old);
/* Adds the functions of the usage. */
void fake_usage(struct nvml *nvml);
void fake_reset(void);

#endif
