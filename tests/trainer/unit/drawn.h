/* SPDX-License-Identifier: MIT */
/* A seed that differs from run to run. */
#ifndef TRAIN_TESTS_DRAWN_H
#define TRAIN_TESTS_DRAWN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* GPUMAP_TEST_SEED, or a seed that is drawn. main() calls it first, so that all tests, which are
 * processes of their own, have the same seed. The seed is always printed. */
static inline uint32_t drawn_seed(void)
{
	static uint32_t seed;
	const char *given = getenv("GPUMAP_TEST_SEED");
	struct timespec now;

	if (seed)
		return seed;
	clock_gettime(CLOCK_REALTIME, &now);
	seed = given ? (uint32_t)strtoul(given, NULL, 10)
		     : ((uint32_t)now.tv_nsec ^ (uint32_t)now.tv_sec << 10 ^ (uint32_t)getpid()) &
			       0x7fffffff;
	seed += seed == 0;
	printf("# GPUMAP_TEST_SEED=%u\n", seed);
	fflush(stdout);
	return seed;
}

#endif
