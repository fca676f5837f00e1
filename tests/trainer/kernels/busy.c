/* SPDX-License-Identifier: MIT */
/* kernels/busy.h */
#include <time.h>

#include "tests/trainer/kernels/references.h"

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Blocks run side by side, so any number of them takes the time of one. */
void reference_busy(const struct busy_args *args)
{
	int64_t begin = args->blocks > 0 && args->nanoseconds > 0 ? now() : 0;

	while (begin && now() - begin < args->nanoseconds)
		;
}
