/* SPDX-License-Identifier: MIT */
/* See timeline.h. */
#include "report/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "memory.h"

struct timeline *timeline_open(int rank, int device, enum timeline_lane lane, int max)
{
	size_t room = max > 0 ? (size_t)max : 0;
	struct timeline *timeline =
		xmalloc(sizeof(*timeline) + room * sizeof(timeline->intervals[0]));

	*timeline = (struct timeline){
		.rank = rank, .device = device, .step = -1, .lane = lane, .max = (int)room};
	/* Touches all pages, so that no page fault happens while something is timed. */
	memset(timeline->intervals, 0, room * sizeof(timeline->intervals[0]));
	return timeline;
}

void timeline_close(struct timeline *timeline)
{
	free(timeline);
}

void timeline_step(struct timeline *timeline, int step)
{
	if (timeline)
		timeline->step = step;
}

bool timeline_on(const struct timeline *t)
{
	return t && t->step >= 0;
}

void timeline_clock(struct timeline *t, const struct timeline_clock *clock)
{
	if (t)
		t->clock = *clock;
}

static int64_t mark(const struct timeline *t)
{
	return t->clock.mark ? t->clock.mark(t->clock.argument) : clock_ns();
}

int64_t timeline_begin(const struct timeline *t)
{
	return timeline_on(t) ? mark(t) : 0;
}

void timeline_settle(struct timeline *t)
{
	if (!t || !t->clock.ns)
		return;
	for (; t->settled < t->count; t->settled++) {
		struct timeline_interval *interval = &t->intervals[t->settled];

		interval->begin_ns = t->clock.ns(t->clock.argument, interval->begin_ns);
		interval->end_ns = t->clock.ns(t->clock.argument, interval->end_ns);
	}
	t->clock.ns(t->clock.argument, 0);
}

void timeline_add(struct timeline *timeline, const char *name, int64_t begin)
{
	struct timeline_interval *interval;

	if (!timeline || timeline->step < 0)
		return;
	if (timeline->count == timeline->max) {
		timeline->lost++;
		return;
	}
	interval = &timeline->intervals[timeline->count++];
	interval->end_ns = mark(timeline);
	interval->begin_ns = begin;
	interval->rank = timeline->rank;
	interval->device = timeline->device;
	interval->lane = (int32_t)timeline->lane;
	interval->step = timeline->step;
	snprintf(interval->name, sizeof(interval->name), "%s", name);
}

int timeline_at(const struct timeline *t)
{
	return t ? t->step : -1;
}

/* Steps come one after the other. */
int64_t timeline_took(const struct timeline *t, int step, const char *name)
{
	int64_t sum = 0;
	bool found = false;

	for (int i = t && step >= 0 ? t->count : 0; i > 0 && t->intervals[i - 1].step >= step;
	     i--) {
		const struct timeline_interval *interval = &t->intervals[i - 1];

		if (interval->step != step || (name && strcmp(interval->name, name) != 0))
			continue;
		if (interval->begin_ns <= 0 || interval->end_ns < interval->begin_ns)
			return -1;
		sum += interval->end_ns - interval->begin_ns;
		found = true;
	}
	return found && t->lost == 0 ? sum : -1;
}
