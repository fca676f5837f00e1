/* SPDX-License-Identifier: MIT */
/* Buffers that share memory, because they are used at different times. */
#ifndef TRAIN_MODEL_MEMORY_REUSE_H
#define TRAIN_MODEL_MEMORY_REUSE_H

#include <stdbool.h>
#include <stddef.h>

enum { BUFFER_TIMES = 2, BUFFER_ALIGNMENT = 256 /* what libraries of GPUs want */ };

/* A buffer, and when it is used: from `first` to `last`, both included. */
struct buffer {
	size_t bytes;
	struct buffer_time {
		int first, last;
	} times[BUFFER_TIMES];
	int count; /* of times */
	int group; /* only buffers of one group share memory */
	size_t at; /* where it lies */
};

/* Whether two may share memory. */
bool buffers_share(const struct buffer *a, const struct buffer *b);
/* Gives each buffer an aligned `at` behind `below` (NULL: from 0), so that those that are used at
 * the same time, or are of different groups, do not overlap. Those without bytes lie at the
 * beginning. Returns the bytes of all. It sorts the pointers. */
size_t buffers_place(struct buffer **buffers, int count, const struct buffer *below);
/* Gives a buffer a place among those that buffers_place() has placed in so many bytes. False: there
 * is no such place. */
bool buffers_insert(struct buffer *buffer, struct buffer *const *placed, int count,
		    const struct buffer *below, size_t bytes);

#endif
