/* SPDX-License-Identifier: MIT */
/* From the host through every view to logical devices: the views in their order. */
#include "resolve/resolve.h"

/* The view's ordinals, beginning with this worker's own (Dask without a list). */
static struct ordinal *rotated(struct resolver *resolver)
{
	const struct view *view = &resolver->view;
	size_t count = view->ordinal_count, by = (size_t)resolver->rotate;
	struct ordinal *ordinals = arena_alloc(resolver->arena, count, sizeof(*ordinals));

	for (size_t i = 0; ordinals && i < count; i++)
		ordinals[i] = view->ordinals[(i + by) % count];
	return ordinals;
}

int views_resolve(struct resolver *resolver)
{
	const struct effective *list = &resolver->effective[dialect_variable(resolver->dialect)];
	const struct view *view = &resolver->view;
	struct ordinal *ordinals;
	size_t count = 0;
	int r;

	view_remember(resolver, "host");
	r = grant_apply(resolver, KEY_container);
	if (r == GPUMAP_OK)
		r = grant_apply(resolver, KEY_cgroup);
	if (r != GPUMAP_OK || has_ended(resolver))
		return r;
	order_devices(resolver);
	if (!has_ended(resolver))
		launcher_check(resolver);
	if (!has_ended(resolver))
		r = mps_enter(resolver);
	if (r == GPUMAP_OK && !has_ended(resolver) && resolver->dialect == DIALECT_HIP)
		r = amd_enter_rocr(resolver);
	if (r != GPUMAP_OK || has_ended(resolver))
		return r;
	if (resolver->dialect == DIALECT_HIP)
		list = amd_hip_list(resolver);
	else if (!list->set)
		list = NULL;
	resolver->list = list;
	if (list) {
		r = view_pick(resolver, resolver->dialect, list, false, &ordinals, &count);
	} else {
		ordinals = resolver->rotate ? rotated(resolver) : view->ordinals;
		count = ordinals ? view->ordinal_count : 0;
	}
	if (r == GPUMAP_OK)
		mig_expand(resolver, ordinals, count, !list);
	return r;
}
