/* SPDX-License-Identifier: MIT */
/* Keeps multiprocessors busy for a time, as a collective would, to measure what it delays. */
#ifndef KERNELS_BUSY_H
#define KERNELS_BUSY_H

#include <stdint.h>

enum { BUSY_THREADS = 512 }; /* as NCCL's */

struct busy_args {
	int64_t nanoseconds; /* each block ends so long after it began; 0 or less: at once */
	int32_t blocks;      /* of BUSY_THREADS each; 0: none */
};

#endif
