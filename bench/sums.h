/* SPDX-License-Identifier: MIT */
/* The measurement of bench/collective: one rank's part in sums of growing sizes, on the CPU or a
 * GPU. */
#ifndef BENCH_SUMS_H
#define BENCH_SUMS_H

#include "collective/collective.h"

enum {
	SUMS_MAX_RANKS = 16,
	SUMS_MAX_RUNS = 100,
	SUMS_SIZES = 9, /* each four times the one before */
	SUMS_FIRST = 1024
};

/* Shared by the ranks of a process. */
struct sums {
	const struct collective *calls;
	const struct backend *backend; /* of GPUs, or NULL */
	int world, runs;
	bool processes;
	char name[40]; /* the name of the run, the same in all processes */
	size_t max;
	struct rendezvous *rendezvous;
};

struct sums_rank {
	const struct sums *bench;
	int rank;
	struct device *device; /* NULL: the CPU */
	struct communicator *comm;
	float *values, *other, *host; /* host: a copy for GPUs, else the same as values */
	size_t bytes;                 /* of the sum */
	double sum_us[SUMS_SIZES], memory_us[SUMS_SIZES]; /* memory: the bound by it */
	struct train_error error;
	bool good;
};

/* Opens the device of `rank`, where there are any, and its communicator, and measures all sizes;
 * `bench` and `rank` are inputs. All ranks call it, each in its own thread or process. Leaves
 * nothing open; on failure the reason is in `error`, and the others end too. */
bool sums_measure(struct sums_rank *rank);

/* Prints a table of a rank's measurements. */
void sums_print(const struct sums_rank *rank);

#endif
