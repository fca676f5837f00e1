/* SPDX-License-Identifier: MIT */
/* Keeps multiprocessors busy for a time, as a collective would: what it delays can be measured. */
#ifndef KERNELS_BUSY_H
#define KERNELS_BUSY_H

#include <stdint.h>

struct busy_args {
	int64_t nanoseconds; /* each block ends so long after it began; 0 or less: at once */
	int32_t blocks;      /* of 512 threads and one multiprocessor each; 0: none */
};

#endif
