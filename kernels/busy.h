/* SPDX-License-Identifier: MIT */
/* Keeps multiprocessors busy for a time, as a collective would, to measure how it delays other
 * work. */
#ifndef KERNELS_BUSY_H
#define KERNELS_BUSY_H

#include <stdint.h>

enum { BUSY_THREADS = 512 }; /* as many as NCCL's */

struct busy_args {
	int64_t nanoseconds; /* the time of each block; 0 or less: ends at once */
	int32_t blocks;      /* of BUSY_THREADS each; 0: none */
};

#endif
