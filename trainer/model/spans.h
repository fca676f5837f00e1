/* SPDX-License-Identifier: MIT */
/* Buffers that share memory, because they are used at different times. */
#ifndef TRAIN_MODEL_SPANS_H
#define TRAIN_MODEL_SPANS_H

#include <stddef.h>

enum { SPAN_TIMES = 2, SPAN_ALIGNMENT = 256 /* what libraries of GPUs want */ };

/* A buffer, and when it is used: from `first` to `last`, both included. */
struct span {
	size_t bytes;
	struct span_time {
		int first, last;
	} times[SPAN_TIMES];
	int count; /* of times */
	size_t at; /* where it lies */
};

/* Places them above the one that lies below, unless NULL, with an aligned `at` each, so that those
 * that are used at the same time do not overlap. Those without bytes lie at the beginning. Returns
 * the bytes of all. It sorts the pointers. */
size_t spans_place(struct span **spans, int count, const struct span *below);

#endif
