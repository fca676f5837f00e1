/* SPDX-License-Identifier: MIT */
/* Which of its host's devices a local rank owns, and which it sees: the key share. */
#include "plan/build.h"

#include "strbuf.h"

struct placement share_devices(const struct builder *b, const struct layout *layout, size_t l)
{
	size_t n = layout->class->count, ranks = layout->plan->count;
	struct placement placement = {.lands = NOWHERE};

	if (!n)
		return placement;
	if (plan_one_each(b, layout->class->settings) || ranks > n) {
		placement.own = l % n;
		placement.own_count = 1;
	} else {
		placement.own = l * n / ranks;
		placement.own_count = (l + 1) * n / ranks - placement.own;
	}
	placement.shown = n;
	if (layout->class->settings->share.word != PLAN_SHARE_LIST)
		placement.first = placement.own;
	if (layout->class->settings->share.word == PLAN_SHARE_ISOLATE)
		placement.shown = placement.own_count;
	return placement;
}

const char *share_list(struct builder *b, const struct host_class *class,
		       const struct placement *placement)
{
	CLEANUP(strbuf_free) struct strbuf buf = {0};

	for (size_t i = 0; i < placement->shown; i++) {
		strbuf_puts(&buf, i ? "," : "");
		strbuf_puts(&buf, class->names[(placement->first + i) % class->count]);
	}
	b->arena->failed = b->arena->failed || buf.failed;
	return buf.failed ? NULL : arena_strdup(b->arena, buf.text ? buf.text : "");
}
