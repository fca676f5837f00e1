/* SPDX-License-Identifier: MIT */
/* See timeline_rows.h. */
#include "report/timeline_rows.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* An interval by name, while kinds are found. */
struct named {
	const char *name;
	int place;
};

int64_t timeline_duration(const struct timeline_interval *interval)
{
	return interval->end_ns > interval->begin_ns ? interval->end_ns - interval->begin_ns : 0;
}

const char *timeline_lane_name(int lane)
{
	return lane == TIMELINE_COMPUTE ? "compute" : "communication";
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int by_place(const void *a, const void *b)
{
	const struct timeline_interval *x = *(const struct timeline_interval *const *)a;
	const struct timeline_interval *y = *(const struct timeline_interval *const *)b;

	if (x->rank != y->rank)
		return COMPARE(x->rank, y->rank);
	if (x->lane != y->lane)
		return COMPARE(x->lane, y->lane);
	if (x->begin_ns != y->begin_ns)
		return COMPARE(x->begin_ns, y->begin_ns);
	if (x->end_ns != y->end_ns)
		return COMPARE(y->end_ns, x->end_ns);
	return strncmp(x->name, y->name, TIMELINE_NAME);
}

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = strncmp(x->name, y->name, TIMELINE_NAME);

	return order ? order : COMPARE(x->place, y->place);
}

static int by_sum(const void *a, const void *b)
{
	const struct timeline_kind *x = a, *y = b;

	return x->ns != y->ns ? COMPARE(y->ns, x->ns) : strncmp(x->name, y->name, TIMELINE_NAME);
}

static int by_step(const void *a, const void *b)
{
	const struct timeline_start *x = a, *y = b;

	return x->step != y->step ? COMPARE(x->step, y->step) : COMPARE(x->ns, y->ns);
}

static void find_rows(struct timeline_rows *rows)
{
	for (int i = 0; i < rows->count; i++) {
		const struct timeline_interval *at = rows->order[i];
		const struct timeline_interval *before = i ? rows->order[i - 1] : NULL;

		if (!before || at->rank != before->rank)
			rows->ranks++;
		if (!before || at->rank != before->rank || at->lane != before->lane)
			rows->rows[rows->rows_count++] =
				(struct timeline_row){at->rank, at->lane, at->device, i, 0};
		rows->rows[rows->rows_count - 1].count++;
		if (!i || at->begin_ns < rows->begin_ns)
			rows->begin_ns = at->begin_ns;
		if (!i || at->end_ns > rows->end_ns)
			rows->end_ns = at->end_ns;
		rows->starts[i] = (struct timeline_start){at->step, at->begin_ns};
	}
	if (rows->end_ns < rows->begin_ns)
		rows->end_ns = rows->begin_ns;
}

static void find_starts(struct timeline_rows *rows)
{
	qsort(rows->starts, (size_t)rows->count, sizeof(*rows->starts), by_step);
	for (int i = 0; i < rows->count; i++)
		if (!i || rows->starts[i].step != rows->starts[rows->starts_count - 1].step)
			rows->starts[rows->starts_count++] = rows->starts[i];
}

/* Kinds in the order of names, with their intervals' places in `kind`. */
static void sum_up(struct timeline_rows *rows, struct named *named)
{
	for (int i = 0; i < rows->count; i++)
		named[i] = (struct named){rows->order[i]->name, i};
	qsort(named, (size_t)rows->count, sizeof(*named), by_name);
	for (int i = 0; i < rows->count; i++) {
		struct timeline_kind *kind;

		if (!i || strncmp(named[i].name, named[i - 1].name, TIMELINE_NAME) != 0)
			rows->kinds[rows->kinds_count++] =
				(struct timeline_kind){.name = named[i].name};
		kind = &rows->kinds[rows->kinds_count - 1];
		kind->count++;
		kind->ns += timeline_duration(rows->order[named[i].place]);
		kind->by_name = rows->kinds_count - 1;
		rows->kind[named[i].place] = kind->by_name;
	}
}

static void sort_kinds(struct timeline_rows *rows, struct named *named)
{
	qsort(rows->kinds, (size_t)rows->kinds_count, sizeof(*rows->kinds), by_sum);
	for (int i = 0; i < rows->kinds_count; i++)
		named[rows->kinds[i].by_name].place = i;
	for (int i = 0; i < rows->count; i++)
		rows->kind[i] = named[rows->kind[i]].place;
}

void timeline_rows_make(struct timeline_rows *rows, const struct timeline_interval *intervals,
			int count)
{
	size_t room = (size_t)count + 1;
	CLEANUP_FREE struct named *named = xmalloc(room * sizeof(*named));

	*rows = (struct timeline_rows){
		.count = count,
		.order = xmalloc(room * sizeof(*rows->order)),
		.kind = xmalloc(room * sizeof(*rows->kind)),
		.kinds = xmalloc(room * sizeof(*rows->kinds)),
		.rows = xmalloc(room * sizeof(*rows->rows)),
		.starts = xmalloc(room * sizeof(*rows->starts)),
	};
	for (int i = 0; i < count; i++)
		rows->order[i] = &intervals[i];
	qsort(rows->order, (size_t)count, sizeof(*rows->order), by_place);
	find_rows(rows);
	find_starts(rows);
	sum_up(rows, named);
	sort_kinds(rows, named);
}

void timeline_rows_free(struct timeline_rows *rows)
{
	free(rows->order);
	free(rows->kind);
	free(rows->kinds);
	free(rows->rows);
	free(rows->starts);
}
