/* SPDX-License-Identifier: MIT */
/* Which devices of a view a list picks (rules V), and the view that is left of it. */
#include "resolve/resolve.h"

/* NULL without memory. */
static struct ordinal *select_ordinals(struct resolver *resolver, const struct visible_list *list,
				       const gpumap_device **migs)
{
	const struct view *view = &resolver->view;
	struct ordinal *ordinals = arena_alloc(resolver->arena, list->count, sizeof(*ordinals));
	enum gpumap_certainty named = resolver->assumed || view->unsure ? GPUMAP_CERTAINTY_ASSUMED
									: GPUMAP_CERTAINTY_CERTAIN;

	for (size_t i = 0; ordinals && i < list->count; i++) {
		const struct visible_entry *e = &list->entries[i];

		if (e->ordinal >= 0)
			ordinals[i] =
				view->ordinals[view->unlisted ? view_position(view, e->ordinal)
							      : e->ordinal];
		else if (e->gpu >= 0)
			ordinals[i] = (struct ordinal){&view->devices[e->gpu], 1, named};
		else
			ordinals[i] = (struct ordinal){&migs[e->mig], 1, named};
	}
	return ordinals;
}

int view_pick(struct resolver *resolver, enum dialect dialect, const struct effective *effective,
	      bool outer, struct ordinal **ordinals, size_t *count)
{
	struct visible_view parent = {0};
	struct visible_list list;
	const gpumap_device **migs;
	int r = view_names(resolver, &parent, &migs);

	if (r == GPUMAP_OK)
		r = visible_parse(&list, dialect, span_of(effective->value), &parent);
	if (r == GPUMAP_ELIMIT)
		report_add(resolver->report, FINDING_LIMIT, ABOUT(.origin = effective->origin),
			   "a visible list of more than %d entries", GPUMAP_MAX_DEVICES);
	if (r != GPUMAP_OK)
		return r;
	*ordinals = select_ordinals(resolver, &list, migs);
	*count = list.count;
	list_explain(resolver, &list, effective, outer);
	visible_list_free(&list);
	return *ordinals ? GPUMAP_OK : GPUMAP_ENOMEM;
}

static void replace(struct resolver *resolver, struct ordinal *ordinals, size_t count,
		    const char *label)
{
	struct view *view = &resolver->view;
	const gpumap_device **devices = arena_alloc(resolver->arena, count, sizeof(*devices));
	bool unsure = false;

	if (!devices)
		return;
	for (size_t i = 0; i < count; i++) {
		devices[i] = ordinals[i].candidates[0];
		unsure = unsure || ordinals[i].count > 1;
	}
	if (!count)
		resolver->hidden_by = "the outer list hides every device";
	*view = (struct view){
		.devices = unsure ? view->devices : devices,
		.count = unsure ? view->count : count,
		.ordinals = ordinals,
		.ordinal_count = count,
		.unsure = unsure,
	};
	view_remember(resolver, label);
}

int view_enter(struct resolver *resolver, enum dialect dialect, const struct effective *effective,
	       const char *label)
{
	struct ordinal *ordinals;
	size_t count;
	int r = view_pick(resolver, dialect, effective, true, &ordinals, &count);

	if (r == GPUMAP_OK)
		replace(resolver, ordinals, count, label);
	return r;
}

bool view_list_repeats(const struct effective *list, const char *outer)
{
	struct span rest = span_of(outer), token;
	int64_t i = 0;
	bool identity = true;

	if (!list->set || !*outer || !streq(list->value, outer) || strstr(outer, "GPU-") ||
	    strstr(outer, "MIG-"))
		return false;
	while (span_split(&rest, ',', &token))
		identity = identity && visible_number(token).value == i++;
	return !identity;
}
