/* SPDX-License-Identifier: MIT */
/* From the host through every view to logical devices: the views in their order. */
#include "resolve/resolve.h"

/* The view's slots, beginning with this worker's own (Dask without a list). */
static struct slot *rotated(struct resolver *resolver)
{
	const struct view *view = &resolver->view;
	size_t count = view->slot_count, by = (size_t)resolver->rotate;
	struct slot *slots = arena_alloc(resolver->arena, count, sizeof(*slots));

	for (size_t i = 0; slots && i < count; i++)
		slots[i] = view->slots[(i + by) % count];
	return slots;
}

int views_resolve(struct resolver *resolver)
{
	const struct effective *list = &resolver->effective[dialect_variable(resolver->dialect)];
	struct slot *slots;
	size_t count;
	int r = view_remember(resolver, "host");

	if (r == GPUMAP_OK)
		r = grant_apply(resolver, KEY_container);
	if (r == GPUMAP_OK)
		r = grant_apply(resolver, KEY_cgroup);
	if (r != GPUMAP_OK || resolver->failed)
		return r;
	r = order_slots(resolver);
	if (r == GPUMAP_OK)
		launcher_check(resolver);
	if (r == GPUMAP_OK && !resolver->failed)
		r = mps_enter(resolver);
	if (r == GPUMAP_OK && resolver->dialect == DIALECT_HIP)
		r = amd_enter_rocr(resolver);
	if (r != GPUMAP_OK || resolver->failed)
		return r;
	if (resolver->dialect == DIALECT_HIP)
		list = amd_hip_list(resolver);
	else if (!list->set)
		list = NULL;
	resolver->list = list;
	if (!list) {
		slots = resolver->rotate ? rotated(resolver) : resolver->view.slots;
		return slots ? mig_expand(resolver, slots, resolver->view.slot_count, true)
			     : report_nomem(resolver->report);
	}
	r = view_pick(resolver, resolver->dialect, list, false, &slots, &count);
	return r == GPUMAP_OK ? mig_expand(resolver, slots, count, false) : r;
}
