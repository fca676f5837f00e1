/* SPDX-License-Identifier: MIT */
/* What was seen, as lines of a report. */
#ifndef GM_FACT_LINES_H
#define GM_FACT_LINES_H

#include "facts.h"

struct seen_line {
	const char *key;   /* in JSON: "cudnn" */
	const char *label; /* in text: "cuDNN" */
	struct fact fact;  /* always with a text where it is SEEN */
};

enum { MAX_SEEN = 32 };

/* Writes the lines; returns how many. */
size_t seen_lines(const struct facts *facts, struct arena *arena, struct seen_line ret[MAX_SEEN]);

/* "NVIDIA H100, 80 GiB, 12 GiB used by 2 processes" */
const char *seen_gpu(const struct gpu *gpu, struct arena *arena);

/* "9.1.0.70, PATH" */
const char *seen_needed(const struct needed *needed, struct arena *arena);

/* "PATH, VIRTUAL_ENV": where the interpreter was found. */
const char *seen_sources(const struct python *python, struct arena *arena);

/* "/v/bin/python3, Python 3.11, prefix /v", or why nothing is known. */
const char *seen_python(const struct python *python, struct arena *arena);

/* "2.5.1, CUDA 12.4, in /v/lib/python3.11/site-packages" */
const char *seen_package(const struct facts *facts, const struct package *package,
			 struct arena *arena);

/* Whether it is not the driver of a machine: gpumap pretend answers so if that is not known. */
static inline bool is_made_up(const struct fact *nvml_driver)
{
	return nvml_driver->sight == SEEN && streq(nvml_driver->text, NVML_MADE_UP_DRIVER);
}
/* "PyTorch 2.9.0 (CUDA 13.0) fits driver 580.82.07" if *fits, else why that is not checked. NULL:
 * the program that is named has no PyTorch. */
const char *seen_torch(const struct facts *facts, struct arena *arena, bool *fits);

/* Which python3 a program would use, or that none has such packages. NULL: there is nothing to say.
 */
const char *seen_plain_python(const struct facts *facts, struct arena *arena);

#endif
