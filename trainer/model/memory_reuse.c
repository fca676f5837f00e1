/* SPDX-License-Identifier: MIT */
/* See memory_reuse.h. */
#include "model/memory_reuse.h"

#include <stdlib.h>

bool buffers_share(const struct buffer *a, const struct buffer *b)
{
	if (a->group != b->group)
		return false;
	for (int i = 0; i < a->count; i++)
		for (int j = 0; j < b->count; j++)
			if (a->times[i].first <= b->times[j].last &&
			    b->times[j].first <= a->times[i].last)
				return false;
	return true;
}

static size_t end_of(const struct buffer *buffer)
{
	return (buffer->at + buffer->bytes + BUFFER_ALIGNMENT - 1) / BUFFER_ALIGNMENT *
	       BUFFER_ALIGNMENT;
}

/* The end of a placed buffer that is in the way; 0: none is. */
static size_t in_the_way(const struct buffer *buffer, struct buffer *const *placed, int count)
{
	for (int i = 0; i < count; i++)
		if (buffer->at < end_of(placed[i]) && placed[i]->at < end_of(buffer) &&
		    !buffers_share(buffer, placed[i]))
			return end_of(placed[i]);
	return 0;
}

/* Equal ones in the order of their addresses, so that every qsort() gives the same order. */
static int larger_first(const void *a, const void *b)
{
	const struct buffer *x = *(struct buffer *const *)a, *y = *(struct buffer *const *)b;

	if (x->bytes != y->bytes)
		return (x->bytes < y->bytes) - (x->bytes > y->bytes);
	if (x->times[0].first != y->times[0].first)
		return x->times[0].first - y->times[0].first;
	return (x > y) - (x < y);
}

static size_t first_place(const struct buffer *below)
{
	return below ? end_of(below) : 0;
}

/* As low as it fits. */
static void place_one(struct buffer *buffer, struct buffer *const *placed, int count, size_t from)
{
	size_t next = from;

	do
		buffer->at = next;
	while (buffer->bytes > 0 && (next = in_the_way(buffer, placed, count)) > 0);
}

/* The largest first. */
size_t buffers_place(struct buffer **buffers, int count, const struct buffer *below)
{
	size_t from = first_place(below), bytes = from;

	qsort(buffers, (size_t)count, sizeof(*buffers), larger_first);
	for (int i = 0; i < count; i++) {
		place_one(buffers[i], buffers, i, from);
		if (buffers[i]->bytes > 0 && end_of(buffers[i]) > bytes)
			bytes = end_of(buffers[i]);
	}
	return bytes;
}

bool buffers_insert(struct buffer *buffer, struct buffer *const *placed, int count,
		    const struct buffer *below, size_t bytes)
{
	struct buffer here = *buffer;

	place_one(&here, placed, count, first_place(below));
	if (end_of(&here) > bytes)
		return false;
	*buffer = here;
	return true;
}
