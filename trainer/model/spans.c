/* SPDX-License-Identifier: MIT */
#include "model/spans.h"

#include <stdbool.h>
#include <stdlib.h>

static bool together(const struct span *a, const struct span *b)
{
	for (int i = 0; i < a->count; i++)
		for (int j = 0; j < b->count; j++)
			if (a->times[i].first <= b->times[j].last &&
			    b->times[j].first <= a->times[i].last)
				return true;
	return false;
}

static size_t end_of(const struct span *span)
{
	return (span->at + span->bytes + SPAN_ALIGNMENT - 1) / SPAN_ALIGNMENT * SPAN_ALIGNMENT;
}

/* The end of a placed span that is in the way; 0: none is. */
static size_t in_the_way(const struct span *span, struct span *const *placed, int count)
{
	for (int i = 0; i < count; i++)
		if (span->at < end_of(placed[i]) && placed[i]->at < end_of(span) &&
		    together(span, placed[i]))
			return end_of(placed[i]);
	return 0;
}

static int larger_first(const void *a, const void *b)
{
	const struct span *x = *(struct span *const *)a, *y = *(struct span *const *)b;

	return x->bytes != y->bytes ? (x->bytes < y->bytes) - (x->bytes > y->bytes)
				    : x->times[0].first - y->times[0].first;
}

/* The largest first, each as low as it fits. */
size_t spans_place(struct span **spans, int count, const struct span *below)
{
	size_t from = below ? end_of(below) : 0, bytes = from;

	qsort(spans, (size_t)count, sizeof(*spans), larger_first);
	for (int i = 0; i < count; i++) {
		size_t next = from;

		do
			spans[i]->at = next;
		while (spans[i]->bytes > 0 && (next = in_the_way(spans[i], spans, i)) > 0);
		if (spans[i]->bytes > 0 && end_of(spans[i]) > bytes)
			bytes = end_of(spans[i]);
	}
	return bytes;
}
