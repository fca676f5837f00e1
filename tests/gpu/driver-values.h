/* SPDX-License-Identifier: MIT */
/* The values that are tried on the driver. */
#ifndef GM_DRIVER_VALUES_H
#define GM_DRIVER_VALUES_H

#include <stddef.h>

struct options {
	size_t values;
	unsigned long long seed;
	int jobs, seconds; /* no more values are asked after so many */
	const char *record;
};

/* 0 after saying what is wrong. */
int read_options(struct options *options, int argc, char **argv);

struct values {
	char **texts;         /* NULL: unset */
	size_t count, listed; /* the listed ones come first */
};

/* `options->values` values, at least the listed ones, for a machine with these GPUs. */
void make_values(struct values *ret, char *const *uuids, int gpus, const struct options *options);

#endif
