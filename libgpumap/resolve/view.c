/* SPDX-License-Identifier: MIT */
/* The names of a view's devices, its devices by number, and copies of it for pictures. */
#include "resolve/resolve.h"

int view_names(struct resolver *resolver, struct visible_view *ret, const gpumap_device ***migs)
{
	struct view *view = &resolver->view;
	struct visible_mig *mig;
	size_t mig_count = 0;

	for (size_t i = 0; i < view->count; i++)
		mig_count += view->devices[i]->mig_count + 1;
	ret->count = view->unlisted ? (int64_t)INT32_MAX + 1 : (int64_t)view->ordinal_count;
	ret->uuids = arena_alloc(resolver->arena, view->count, sizeof(*ret->uuids));
	mig = arena_alloc(resolver->arena, mig_count, sizeof(*mig));
	*migs = arena_alloc(resolver->arena, mig_count, sizeof(**migs));
	if (!ret->uuids || !mig || !*migs)
		return GPUMAP_ENOMEM;
	ret->uuid_count = view->count;
	ret->migs = mig;
	for (size_t i = 0; i < view->count; i++) {
		const gpumap_device *d = view->devices[i];

		ret->uuids[i] = d->uuid;
		if (d->uuid && starts_with(d->uuid, "MIG-")) {
			mig[ret->mig_count] = (struct visible_mig){d->uuid, (int)i, d->gi, d->ci};
			(*migs)[ret->mig_count++] = d;
		}
		for (size_t m = 0; m < d->mig_count; m++) {
			mig[ret->mig_count] = (struct visible_mig){d->mig[m].uuid, (int)i,
								   d->mig[m].gi, d->mig[m].ci};
			(*migs)[ret->mig_count++] = &d->mig[m];
		}
	}
	return GPUMAP_OK;
}

int view_position(const struct view *view, int64_t number)
{
	size_t low;

	if (!view->unlisted)
		return number < (int64_t)view->count ? (int)number : -1;
	/* Devices known only by UUID come last. */
	low = FIRST_PLACE(i, view->count,
			  view->devices[i]->physical >= 0 && view->devices[i]->physical < number);
	return low < view->count && view->devices[low]->physical == number ? (int)low : -1;
}

void view_remember(struct resolver *resolver, const char *label)
{
	gpumap_mapping *mapping = resolver->mapping;

	if (mapping->view_count < MAX_VIEWS)
		mapping->views[mapping->view_count++] =
			(struct seen_view){label, resolver->view.devices, resolver->view.count};
}
