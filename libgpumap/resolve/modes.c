/* SPDX-License-Identifier: MIT */
/* Rules G: the devices of a mode. DataParallel has a file of its own. */
#include "resolve/resolve.h"

/* device_ids may have a single element, or none (rule G7), and the module must be on it. */
static void resolve_ddp(struct resolver *resolver)
{
	gpumap_mapping *mapping = resolver->mapping;
	const char *origin = resolver->request->origins[KEY_device_ids];

	step_add(resolver, "G8", NULL, "DistributedDataParallel has no master device");
	if (!replicas_named(resolver) || !mapping->visible_count)
		return;
	replicas_fill(resolver);
	if (mapping->replica_count > 1) {
		answer_no(resolver, FINDING_DEVICE_IDS_COUNT,
			  ABOUT(.rule = "G7", .origin = origin,
				.fix = "write device_ids=[local_rank], or leave it out"),
			  "device_ids has %zu elements, but DistributedDataParallel takes one or "
			  "none",
			  mapping->replica_count);
		mapping->replica_count = 0;
	}
	if (!mapping->replica_count)
		return;
	if (module_on_cpu(resolver))
		answer_no(resolver, FINDING_MASTER_MISMATCH,
			  ABOUT(.rule = "G7", .origin = origin, .fix = "leave device_ids out"),
			  "the module is on the CPU, but device_ids is cuda:%d",
			  mapping->replicas[0]->logical);
	else if (mapping->chosen && mapping->replicas[0] != mapping->chosen)
		answer_no(resolver, FINDING_MASTER_MISMATCH,
			  ABOUT(.rule = "G7", .origin = origin,
				.fix = "use one device for both, the local rank"),
			  "the module is on cuda:%d, but device_ids is cuda:%d",
			  mapping->chosen->logical, mapping->replicas[0]->logical);
}

static int resolve_mp(struct resolver *resolver)
{
	gpumap_mapping *mapping = resolver->mapping;
	struct device_choice current;
	struct neighbours near;
	bool works;
	int r = current_resolve(resolver, &current, &works);

	if (r != GPUMAP_OK || !works)
		return r;
	if (!mapping->visible_count && !logical_device(resolver, 0, NULL, NULL))
		return GPUMAP_OK;
	replicas_fill(resolver);
	if (!mapping->replica_count)
		return GPUMAP_OK;
	step_add(resolver, "G9", resolver->request->origins[KEY_device_ids],
		 arena_printf(resolver->arena, "stage s runs on device_ids[s]: %zu stage%s",
			      mapping->replica_count, mapping->replica_count == 1 ? "" : "s"));
	mapping->chosen = mapping->replicas[0];
	replicas_neighbours(&near, resolver);
	replicas_warn_same_gpu(resolver, &near);
	replicas_check_decided(resolver);
	return GPUMAP_OK;
}

/* One device: the replicas are the chosen device alone. */
static void resolve_one(struct resolver *resolver)
{
	gpumap_mapping *mapping = resolver->mapping;

	if (!mapping->chosen || resolver->failed || mapping->replica_count)
		return;
	mapping->replicas = arena_alloc(resolver->arena, 1, sizeof(*mapping->replicas));
	if (!mapping->replicas)
		return;
	mapping->replicas[0] = mapping->chosen;
	mapping->replica_count = 1;
}

/* Reports statements that have no meaning in the mode. */
static void report_ignored(struct resolver *resolver)
{
	static const struct {
		enum key_id key;
		const char *modes;
	} uses[] = {
		{KEY_batch, "dp"},
		{KEY_device_ids, "dp ddp mp"},
		{KEY_device, "single dp ddp"},
		{KEY_set_device, "single dp ddp"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(uses); i++) {
		const char *mode = resolver->mapping->mode;

		if (resolver->request->values[uses[i].key] &&
		    !span_is_any(span_of(mode), uses[i].modes))
			report_add(resolver->report, FINDING_IGNORED_KEY,
				   ABOUT(.origin = resolver->request->origins[uses[i].key],
					 .fix = "give --mode, or leave it out"),
				   "%s has no effect in mode %s", key_get(uses[i].key)->name, mode);
	}
}

int groups_resolve(struct resolver *resolver)
{
	const char *mode = resolver->mapping->mode;
	int r;

	report_ignored(resolver);
	if (streq(mode, "mp"))
		return resolve_mp(resolver);
	r = choice_resolve(resolver);
	if (r != GPUMAP_OK)
		return r;
	if (streq(mode, "dp")) {
		data_parallel_resolve(resolver);
		return GPUMAP_OK;
	}
	if (streq(mode, "ddp"))
		resolve_ddp(resolver);
	resolve_one(resolver);
	return GPUMAP_OK;
}
