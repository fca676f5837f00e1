/* SPDX-License-Identifier: MIT */
/* The differences of two plans. */
#ifndef GM_PLAN_DIFF_H
#define GM_PLAN_DIFF_H

#include "plan/job.h"
#include "plan/table.h"

enum difference_of {
	DIFFERENCE_PLAN,
	DIFFERENCE_SETTING,
	DIFFERENCE_ENVIRONMENT,
	DIFFERENCE_UNSET, /* a variable of [unset]; "yes" */
	DIFFERENCE_ARGUMENTS,
	DIFFERENCE_NODE,
	DIFFERENCE_RANK
};

struct number_range {
	size_t first, last;
};

/* A difference. Nodes or ranks that differ in the same way share one. */
struct difference {
	enum difference_of of;
	const char *key, *from, *to; /* from, to: NULL if there is none */
	struct number_range *ranges; /* of nodes or ranks, ascending */
	size_t range_count, range_room;
};

struct plan_diff {
	const gpumap_plan *a, *b;
	struct difference **list;
	size_t count, room;
	struct arena arena;
	struct table table;
};

/* False without memory. Free it in any case. */
bool plan_diff_make(struct plan_diff *ret, const gpumap_plan *a, const gpumap_plan *b);
void plan_diff_free(struct plan_diff *diff);

#endif
