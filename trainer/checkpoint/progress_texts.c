/* SPDX-License-Identifier: MIT */
/* Progress to texts and back, so that any reader of the format can show it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/contents.h"

static const struct {
	const char *key;
	size_t offset;
	bool later; /* checkpoints were written without it before */
	int64_t max;
} integers[] = {
	{"step", offsetof(struct checkpoint_progress, step), false, INT64_MAX},
	{"optimizer_step", offsetof(struct checkpoint_progress, optimizer_step), false, INT64_MAX},
	{"epoch", offsetof(struct checkpoint_progress, epoch), false, INT64_MAX},
	{"position", offsetof(struct checkpoint_progress, position), false, INT64_MAX},
	{"history", offsetof(struct checkpoint_progress, history), false, INT64_MAX},
	{"elapsed_ms", offsetof(struct checkpoint_progress, elapsed_ms), true, INT64_MAX},
	{"scaler_growth", offsetof(struct checkpoint_progress, scaler_growth), false,
	 INT32_MAX - 1},
};
enum { INTEGERS = sizeof(integers) / sizeof(*integers), SCALE = INTEGERS, SEED };
_Static_assert(SEED + 1 == PROGRESS_TEXTS, "each number has its text");

void progress_print(struct progress_texts *texts, const struct checkpoint_progress *progress)
{
	for (int i = 0; i < INTEGERS; i++) {
		int64_t value;

		memcpy(&value, (const char *)progress + integers[i].offset, sizeof(value));
		snprintf(texts->numbers[i], PROGRESS_NUMBER, "%" PRId64, value);
		texts->texts[i].key = integers[i].key;
	}
	/* nine digits distinguish every float from the next */
	snprintf(texts->numbers[SCALE], PROGRESS_NUMBER, "%.9g", (double)progress->scaler_scale);
	texts->texts[SCALE].key = "scaler_scale";
	snprintf(texts->numbers[SEED], PROGRESS_NUMBER, "%" PRIu64, progress->seed);
	texts->texts[SEED].key = "seed";
	for (int i = 0; i < PROGRESS_TEXTS; i++)
		texts->texts[i].value = texts->numbers[i];
}

static bool scan_unsigned(uint64_t *ret, const char *text)
{
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return !errno && !*end;
}

static bool scan_scale(float *ret, const char *text)
{
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	*ret = strtof(text, &end);
	return !*end && isfinite(*ret);
}

bool progress_scan(struct checkpoint_progress *progress, const struct safetensors *file,
		   const char **key)
{
	for (int i = 0; i < INTEGERS; i++) {
		const char *text = safetensors_text(file, integers[i].key);
		uint64_t value = 0;

		*key = integers[i].key;
		if (!(integers[i].later && !text) &&
		    (!scan_unsigned(&value, text) || value > (uint64_t)integers[i].max))
			return false;
		memcpy((char *)progress + integers[i].offset, &value, sizeof(value));
	}
	*key = "scaler_scale";
	if (!scan_scale(&progress->scaler_scale, safetensors_text(file, *key)))
		return false;
	*key = "seed";
	return scan_unsigned(&progress->seed, safetensors_text(file, *key));
}
