/* SPDX-License-Identifier: MIT */
/* Adds steps to an answer, for all stages. */
#include "resolve/resolve.h"

gpumap_step *step_add(struct resolver *resolver, const char *rule, const char *origin,
		      const char *text)
{
	gpumap_mapping *mapping = resolver->mapping;
	gpumap_step *steps;

	if (!text)
		return NULL;
	steps = arena_room(resolver->arena, mapping->steps, mapping->step_count,
			   &mapping->step_room, sizeof(*steps));
	if (!steps)
		return NULL;
	mapping->steps = steps;
	mapping->steps[mapping->step_count] = (gpumap_step){
		.rule = rule, .text = text, .origin = arena_strdup(resolver->arena, origin)};
	return &mapping->steps[mapping->step_count++];
}

void step_lose(struct resolver *resolver, gpumap_step *step, const char *source, const char *value)
{
	size_t n = step ? step->loser_count : 0;

	if (!step)
		return;
	/* The array grows at powers of two. */
	if ((n & (n - 1)) == 0) {
		struct loser *losers = arena_alloc(resolver->arena, n ? n * 2 : 1, sizeof(*losers));

		if (!losers)
			return;
		if (n)
			memcpy(losers, step->losers, n * sizeof(*losers));
		step->losers = losers;
	}
	step->losers[step->loser_count++] = (struct loser){source, value};
}

const char *shown_value(struct resolver *resolver, const char *value)
{
	return arena_strdup(resolver->arena, value ? QUOTE(span_of(value)) : "unset");
}
