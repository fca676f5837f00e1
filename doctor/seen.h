/* SPDX-License-Identifier: MIT */
/* What was seen, as lines of a report. */
#ifndef GM_SEEN_H
#define GM_SEEN_H

#include "facts.h"

struct seen_line {
	const char *key;   /* in JSON: "cudnn" */
	const char *label; /* in text: "cuDNN" */
	struct fact fact;  /* always with a text where it is SEEN */
};

enum { MAX_SEEN = 32 };

/* Writes the lines; returns how many. */
size_t seen_lines(const struct facts *facts, struct arena *arena, struct seen_line ret[MAX_SEEN]);

/* "NVIDIA H100, 80 GiB, 12 GiB used by 2 processes". NULL without memory. */
const char *seen_gpu(const struct gpu *gpu, struct arena *arena);

/* "9.1.0.70, PATH". NULL without memory. */
const char *seen_needed(const struct needed *needed, struct arena *arena);

#endif
