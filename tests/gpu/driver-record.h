/* SPDX-License-Identifier: MIT */
/* One comparison of the driver with the dialect, and its record. */
#ifndef GM_DRIVER_RECORD_H
#define GM_DRIVER_RECORD_H

#include <stdio.h>

#include "driver-values.h"

enum { MAX_GPUS = 64, MAX_JOBS = 64 };

struct answer {
	int code; /* of cuInit or what failed later; -1: the process did not answer */
	int count;
	int gpus[MAX_GPUS]; /* numbers in the machine's list, -1: not in it */
};

struct run {
	const char *self;
	struct values values;
	struct answer *answers;
	char *uuids[MAX_GPUS]; /* the machine's GPUs without a list */
	char *lines[MAX_GPUS]; /* "uuid pci name" */
	int gpu_count, version;
	FILE *record;
	size_t differing, unsure, unanswered;
};

/* Writes what the values were compared on. */
void write_head(const struct run *run, const struct options *options);

/* Judges the values from first up to end, and writes a line for each. */
void write_record(struct run *run, size_t first, size_t end);

#endif
