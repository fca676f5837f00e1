/* SPDX-License-Identifier: MIT */
/* Rules N2 to N4: how CUDA numbers the devices of a view, and how sure that is. */
#include "resolve/resolve.h"

#include <stdio.h>

enum order_kind { ORDER_PCI, ORDER_FASTEST, ORDER_UNKNOWN };

static enum order_kind order_kind(struct resolver *resolver)
{
	const struct effective *order = &resolver->effective[VARIABLE_CUDA_ORDER];

	if (!order->set || streq(order->value, "FASTEST_FIRST"))
		return ORDER_FASTEST;
	if (streq(order->value, "PCI_BUS_ID"))
		return ORDER_PCI;
	report_add(resolver->report, FINDING_UNKNOWN_ORDER,
		   ABOUT(.rule = "N2", .origin = order->origin,
			 .fix = "write PCI_BUS_ID or FASTEST_FIRST"),
		   "CUDA_DEVICE_ORDER=%s has no documented meaning", QUOTE(span_of(order->value)));
	return ORDER_UNKNOWN;
}

/* A GPU that the inventory lacks is assumed to be of the same model. */
static bool one_model(const struct resolver *resolver)
{
	const struct view *view = &resolver->view;
	struct model model = {0};

	for (size_t i = 0; i < view->count; i++) {
		const gpumap_device *d = view->devices[i];

		if ((!resolver->gaps || d->name) && !model_add(&model, d))
			return false;
	}
	return true;
}

/* The view's devices in nvidia-smi's order, or in the measured order. */
static const gpumap_device **ordered(struct resolver *resolver, bool measured)
{
	const struct view *view = &resolver->view;
	const gpumap_device **devices;
	bool *member;
	size_t n = 0;

	if (!measured)
		return view->devices;
	devices = arena_alloc(resolver->arena, view->count, sizeof(*devices));
	member = arena_alloc(resolver->arena, resolver->host_count, sizeof(*member));
	if (!devices || !member)
		return NULL;
	for (size_t i = 0; i < view->count; i++)
		member[view->devices[i] - resolver->host] = true;
	for (size_t i = 0; i < resolver->host_count; i++) {
		int position = resolver->fastest[i];

		if (member[position])
			devices[n++] = &resolver->host[position];
	}
	return devices;
}

/* Whether the list of this view names UUIDs, whose meaning does not depend on the order. By rule V7
 * a list keeps to its first kind. */
static bool named_by_uuid(const struct resolver *resolver)
{
	const struct effective *list = &resolver->effective[dialect_variable(resolver->dialect)];
	const char *value = resolver->request->values[KEY_mps_server];

	if (!value && list->set)
		value = list->value;
	return value && (starts_with(value, "GPU-") || starts_with(value, "MIG-"));
}

static void explain(struct resolver *resolver, enum gpumap_certainty certainty, const char *why)
{
	struct arena *arena = resolver->arena;

	if (certainty == GPUMAP_CERTAINTY_UNDECIDABLE)
		step_add(
			resolver, "N4", NULL,
			arena_printf(arena,
				     "undecidable: %s; the set of %zu is certain, its order is not",
				     why, resolver->view.count));
	else if (certainty != GPUMAP_CERTAINTY_ASSUMED)
		step_add(resolver, "N4", NULL,
			 arena_printf(arena, "the GPU of an index is %s: %s",
				      gpumap_certainty_name(certainty), why));
}

/* How sure an index of this view is, and why. */
static enum gpumap_certainty judge(struct resolver *resolver, enum order_kind kind, bool measured,
				   const char **why)
{
	const struct view *view = &resolver->view;
	bool amd = resolver->dialect == DIALECT_ROCR || resolver->dialect == DIALECT_HIP;

	if (!one_model(resolver) && kind != ORDER_PCI && !measured && !amd) {
		*why = "the GPUs differ and CUDA_DEVICE_ORDER is not PCI_BUS_ID";
		return GPUMAP_CERTAINTY_UNDECIDABLE;
	}
	if (resolver->assumed) {
		*why = "the devices were not examined";
		return GPUMAP_CERTAINTY_ASSUMED;
	}
	if (resolver->gaps && !measured) {
		*why = "the inventory leaves GPUs out";
		return GPUMAP_CERTAINTY_ASSUMED;
	}
	*why = measured            ? "CUDA's order was measured"
	       : kind == ORDER_PCI ? "CUDA_DEVICE_ORDER=PCI_BUS_ID"
	       : view->count < 2   ? "there is one GPU"
	       : amd               ? "AMD's runtime knows no order by speed"
				   : "all GPUs are one model";
	if (measured || kind == ORDER_PCI || view->count < 2)
		return GPUMAP_CERTAINTY_CERTAIN;
	return GPUMAP_CERTAINTY_LIKELY;
}

const char *doubt_reason(const gpumap_device *device)
{
	return device->physical < 0
		       ? "nvidia-smi's numbers of the GPUs are not known"
		       : "a GPU did not answer, and whether CUDA counts it is not known";
}

/* The first device of the view that inventory_doubts(). A grant of one device leaves no doubt. */
static size_t first_doubt(const struct resolver *resolver)
{
	const struct view *view = &resolver->view;
	size_t first = 0;

	if (view->count == 1 && resolver->host_count > 1)
		return 1;
	while (first < view->count && !inventory_doubts(resolver->inventory, view->devices[first]))
		first++;
	return first;
}

/* The devices from `first` on can have any of the numbers from there on. */
static void doubt_ordinals(struct resolver *resolver, size_t first)
{
	const struct view *view = &resolver->view;

	for (size_t i = first; i < view->count; i++)
		view->ordinals[i] = (struct ordinal){&view->devices[first], view->count - first,
						     GPUMAP_CERTAINTY_UNDECIDABLE};
	if (first < view->count && !named_by_uuid(resolver))
		step_add(resolver, "N4", NULL,
			 arena_printf(resolver->arena, "undecidable from cuda:%zu on: %s", first,
				      doubt_reason(view->devices[first])));
}

void order_devices(struct resolver *resolver)
{
	struct view *view = &resolver->view;
	enum order_kind kind = order_kind(resolver);
	bool measured = kind == ORDER_FASTEST && resolver->fastest;
	const char *why;
	size_t first; /* that has no certain number */
	enum gpumap_certainty certainty = judge(resolver, kind, measured, &why);
	const gpumap_device **devices = ordered(resolver, measured);

	view->ordinals = arena_alloc(resolver->arena, view->count, sizeof(*view->ordinals));
	if (!view->ordinals || !devices)
		return;
	for (size_t i = 0; i < view->count; i++) {
		struct ordinal *ordinal = &view->ordinals[i];

		ordinal->certainty = certainty;
		ordinal->candidates =
			certainty == GPUMAP_CERTAINTY_UNDECIDABLE ? view->devices : &devices[i];
		ordinal->count = certainty == GPUMAP_CERTAINTY_UNDECIDABLE ? view->count : 1;
	}
	view->ordinal_count = view->count;
	first = measured || certainty == GPUMAP_CERTAINTY_UNDECIDABLE ? view->count
								      : first_doubt(resolver);
	doubt_ordinals(resolver, first);
	/* Of a list of UUIDs no number has a meaning. */
	if (view->count && first && !named_by_uuid(resolver))
		explain(resolver, certainty, why);
}
