/* SPDX-License-Identifier: MIT */
/* How a GPU is, from NVML: its temperature, clock and memory errors, and what slows it down. */
#ifndef TRAIN_PLACE_GPU_HEALTH_H
#define TRAIN_PLACE_GPU_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

struct gpu_health;

/* What NVML does not answer is -1, of text "". */
struct gpu_state {
	int32_t celsius, mhz;           /* of the GPU, and of its multiprocessors */
	int64_t reasons;                /* NVML_CLOCKS_*: why clocks are lower than they could be */
	int64_t used_bytes;             /* of its memory, by all processes */
	int64_t corrected, uncorrected; /* memory errors since it was started */
	char lost[64];                  /* why it does not answer any more */
};

/* NVML may hang as a GPU does. After this time the GPU counts as lost, for this reason. */
enum { GPU_HEALTH_PATIENCE_S = 4 };
#define GPU_HEALTH_NO_ANSWER "it does not answer"

/* Finds a GPU by its UUID ("GPU-..."). NULL: there is no NVML, it does not know the GPU, as with an
 * instance of MIG, or there is no memory or thread. */
struct gpu_health *gpu_health_open(const char *uuid);
void gpu_health_close(struct gpu_health *health); /* may be NULL */

/* Asks now. NULL as health: nothing is known. */
struct gpu_state gpu_health_read(struct gpu_health *health);

#endif
