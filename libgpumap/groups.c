/* SPDX-License-Identifier: MIT */
/* Rules G: data parallel, distributed and model parallel groups. */
#include "resolve.h"

#include <stdio.h>

/* Fills in device_ids as logical devices; without the key every visible one (rule G1). */
static int fill_replicas(struct resolver *resolver)
{
	gpumap_mapping *mapping = resolver->mapping;
	const char *value = resolver->keys[KEY_device_ids].value;
	const char *origin = resolver->request->origins[KEY_device_ids];
	struct span rest, part;
	size_t room = 1;

	for (const char *c = value; c && *c; c++)
		room += *c == ',';
	if (!value)
		room = mapping->visible_count;
	mapping->replicas = arena_alloc(resolver->arena, room, sizeof(*mapping->replicas));
	if (!mapping->replicas)
		return report_nomem(resolver->report);
	if (!value) {
		for (size_t i = 0; i < room; i++)
			mapping->replicas[i] = &mapping->visible[i];
		mapping->replica_count = room;
		return GPUMAP_OK;
	}
	rest = span_of(value);
	while (span_split(&rest, ',', &part)) {
		struct device_choice c = device_parse(span_trim(part));
		const gpumap_entry *entry = logical_device(
			resolver, c.index,
			arena_printf(resolver->arena, "%lld in device_ids", (long long)c.index),
			origin);

		if (!entry) {
			mapping->replica_count = 0;
			return GPUMAP_OK;
		}
		mapping->replicas[mapping->replica_count++] = entry;
	}
	return GPUMAP_OK;
}

static bool explicit_ids(const struct resolver *resolver)
{
	return resolver->keys[KEY_device_ids].value != NULL;
}

static const gpumap_device *gpu_of(const gpumap_entry *entry)
{
	return entry_decided(entry) ? entry->candidates[0]->gpu : NULL;
}

/* Replicas of one GPU side by side, and among them those of one logical device. */
static int by_gpu(const void *a, const void *b)
{
	const gpumap_entry *x = *(const gpumap_entry *const *)a,
			   *y = *(const gpumap_entry *const *)b;
	uintptr_t i = (uintptr_t)gpu_of(x), k = (uintptr_t)gpu_of(y);

	if (i != k)
		return i < k ? -1 : 1;
	return (x->logical > y->logical) - (x->logical < y->logical);
}

/* Two replicas on one logical device, or on two MIG instances of one GPU. */
struct neighbours {
	const gpumap_entry *repeat, *a, *b; /* NULL: there are none */
};

static int find_neighbours(struct resolver *resolver, struct neighbours *ret)
{
	const gpumap_mapping *mapping = resolver->mapping;
	const gpumap_entry **sorted =
		arena_alloc(resolver->arena, mapping->replica_count, sizeof(*sorted));

	*ret = (struct neighbours){NULL, NULL, NULL};
	if (!sorted)
		return report_nomem(resolver->report);
	memcpy(sorted, mapping->replicas, mapping->replica_count * sizeof(*sorted));
	qsort(sorted, mapping->replica_count, sizeof(*sorted), by_gpu);
	for (size_t i = 1; i < mapping->replica_count; i++) {
		if (sorted[i] == sorted[i - 1]) {
			ret->repeat = ret->repeat ? ret->repeat : sorted[i];
		} else if (!ret->a && gpu_of(sorted[i]) &&
			   gpu_of(sorted[i]) == gpu_of(sorted[i - 1])) {
			ret->a = sorted[i - 1];
			ret->b = sorted[i];
		}
	}
	return GPUMAP_OK;
}

/* MIG instances of one GPU share its PCI address, and NCCL takes that for one device. */
static void warn_same_address(struct resolver *resolver, const struct neighbours *near)
{
	if (near->a)
		report_add(resolver->report, FINDING_SAME_ADDRESS,
			   ABOUT(.rule = "G10", .fix = "use devices of different GPUs"),
			   "cuda:%d and cuda:%d are MIG instances of GPU %d: NCCL refuses them",
			   near->a->logical, near->b->logical, gpu_of(near->a)->physical);
}

static bool check_repeat(struct resolver *resolver, const struct neighbours *near)
{
	if (!near->repeat)
		return false;
	answer_no(resolver, FINDING_REPEATED_REPLICA,
		  ABOUT(.rule = "G10", .origin = resolver->request->origins[KEY_device_ids],
			.fix = "name each device once"),
		  "device_ids names %d twice: NCCL refuses two replicas on one device",
		  near->repeat->logical);
	return true;
}

static int undecided_replica(struct resolver *resolver)
{
	const gpumap_mapping *mapping = resolver->mapping;

	for (size_t i = 0; i < mapping->replica_count; i++)
		if (!entry_decided(mapping->replicas[i]) && !resolver->failed)
			answer_no(resolver, FINDING_UNDECIDABLE,
				  ABOUT(.rule = "N4", .fix = "set CUDA_DEVICE_ORDER=PCI_BUS_ID"),
				  "the GPU of cuda:%d is not certain, because CUDA's order is not "
				  "known",
				  mapping->replicas[i]->logical);
	return GPUMAP_OK;
}

static bool on_cpu(const struct resolver *resolver)
{
	const char *device = resolver->keys[KEY_device].value;

	return device && device_parse(span_of(device)).kind == CHOICE_CPU;
}

/* --- DataParallel ----------------------------------------------------------- */

/* Rule G3; and G5 for the memory that is still allocated on logical 0. */
static void check_module(struct resolver *resolver)
{
	const gpumap_mapping *mapping = resolver->mapping;
	const char *set_device = resolver->keys[KEY_set_device].value;
	const gpumap_entry *chosen = mapping->chosen, *master = mapping->master;
	struct about about = {
		.rule = "G5",
		.fix = "put the master first in the visible list, or call set_device"};

	if (!master)
		return;
	if (on_cpu(resolver)) {
		answer_no(resolver, FINDING_MASTER_MISMATCH,
			  ABOUT(.rule = "G3", .origin = resolver->request->origins[KEY_device],
				.fix = "move the module to device_ids[0]"),
			  "the module is on the CPU, but device_ids[0] is cuda:%d: DataParallel "
			  "refuses that",
			  master->logical);
		return;
	}
	if (!chosen)
		return;
	if (chosen != master) {
		char fix[96];

		snprintf(fix, sizeof(fix),
			 "move the module to cuda:%d, or put %d first in device_ids",
			 master->logical, chosen->logical);
		answer_no(resolver, FINDING_MASTER_MISMATCH,
			  ABOUT(.rule = "G3", .origin = resolver->request->origins[KEY_device_ids],
				.fix = fix),
			  "the module is on cuda:%d, but device_ids[0] is cuda:%d: DataParallel "
			  "refuses "
			  "that",
			  chosen->logical, master->logical);
		return;
	}
	for (size_t i = 0; i < mapping->replica_count; i++)
		if (mapping->replicas[i]->logical == 0)
			return;
	if (set_device && device_parse(span_of(set_device)).index > 0)
		report_add(resolver->report, FINDING_STRAY_CONTEXT_POSSIBLE, &about,
			   "a context on cuda:0 is possible: threads start with device 0");
	else
		report_add(resolver->report, FINDING_STRAY_CONTEXT, &about,
			   "cuda:0 is not used, but the current device stays 0: expect a context "
			   "of 300 to "
			   "900 MB on it");
}

/* Chunks of ceil(n/k): rule G6. */
static int split_batch(struct resolver *resolver)
{
	gpumap_mapping *mapping = resolver->mapping;
	int64_t batch = request_number(resolver->request, KEY_batch), left = batch, chunk;
	const char *origin = resolver->request->origins[KEY_batch];
	int64_t replicas = (int64_t)mapping->replica_count;

	if (batch < 0 || !replicas)
		return GPUMAP_OK;
	chunk = (batch + replicas - 1) / replicas;
	mapping->batch =
		arena_alloc(resolver->arena, mapping->replica_count, sizeof(*mapping->batch));
	if (!mapping->batch)
		return report_nomem(resolver->report);
	while (left > 0) {
		int64_t n = left < chunk ? left : chunk;

		mapping->batch[mapping->batch_count++] = n;
		left -= n;
	}
	step_add(resolver, "G6", origin,
		 arena_printf(resolver->arena, "%lld samples over %lld devices in chunks of %lld",
			      (long long)batch, (long long)replicas, (long long)chunk));
	if (mapping->batch_count < mapping->replica_count)
		report_add(resolver->report, FINDING_IDLE_REPLICA,
			   ABOUT(.rule = "G6", .origin = origin,
				 .fix = "use a batch that is a multiple of the number of devices"),
			   "%lld samples keep %zu of %lld devices busy", (long long)batch,
			   mapping->batch_count, (long long)replicas);
	return GPUMAP_OK;
}

static int resolve_dp(struct resolver *resolver)
{
	gpumap_mapping *mapping = resolver->mapping;
	struct neighbours near;
	int r;

	if (!mapping->visible_count)
		return GPUMAP_OK; /* reported already */
	r = fill_replicas(resolver);
	if (r != GPUMAP_OK || !mapping->replica_count)
		return r;
	if (!explicit_ids(resolver))
		step_add(resolver, "G1", NULL,
			 "device_ids default to all visible devices, in order");
	if (!explicit_ids(resolver) && resolver->effective[VARIABLE_CUDA_VISIBLE].set)
		step_add(resolver, "G4", NULL,
			 "so the first device of the visible list is the master");
	mapping->master = mapping->replicas[0];
	step_add(resolver, "G2", resolver->request->origins[KEY_device_ids],
		 arena_printf(
			 resolver->arena,
			 "the master is device_ids[0], cuda:%d: parameters, outputs and optimizer "
			 "live there",
			 mapping->master->logical));
	r = find_neighbours(resolver, &near);
	if (r != GPUMAP_OK || check_repeat(resolver, &near))
		return r;
	check_module(resolver);
	warn_same_address(resolver, &near);
	undecided_replica(resolver);
	return split_batch(resolver);
}

/* --- the other modes ---------------------------------------------------------- */

/* device_ids may have a single element, or none (rule G7), and the module must be on it. */
static int resolve_ddp(struct resolver *resolver)
{
	gpumap_mapping *mapping = resolver->mapping;
	const char *origin = resolver->request->origins[KEY_device_ids];
	int r = GPUMAP_OK;

	step_add(resolver, "G8", NULL, "DistributedDataParallel has no master device");
	if (explicit_ids(resolver) && mapping->visible_count) {
		r = fill_replicas(resolver);
		if (r != GPUMAP_OK || !mapping->replica_count)
			return r;
		if (mapping->replica_count > 1) {
			answer_no(resolver, FINDING_DEVICE_IDS_COUNT,
				  ABOUT(.rule = "G7", .origin = origin,
					.fix = "write device_ids=[local_rank], or leave it out"),
				  "device_ids has %zu elements, but DistributedDataParallel takes "
				  "one "
				  "or none",
				  mapping->replica_count);
			mapping->replica_count = 0;
			return GPUMAP_OK;
		}
		if (on_cpu(resolver))
			answer_no(resolver, FINDING_MASTER_MISMATCH,
				  ABOUT(.rule = "G7", .origin = origin,
					.fix = "leave device_ids out"),
				  "the module is on the CPU, but device_ids is cuda:%d",
				  mapping->replicas[0]->logical);
		else if (mapping->chosen && mapping->replicas[0] != mapping->chosen)
			answer_no(resolver, FINDING_MASTER_MISMATCH,
				  ABOUT(.rule = "G7", .origin = origin,
					.fix = "use one device for both, the local rank"),
				  "the module is on cuda:%d, but device_ids is cuda:%d",
				  mapping->chosen->logical, mapping->replicas[0]->logical);
		return GPUMAP_OK;
	}
	return GPUMAP_OK;
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
	r = fill_replicas(resolver);
	if (r != GPUMAP_OK || !mapping->replica_count)
		return r;
	step_add(resolver, "G9", resolver->request->origins[KEY_device_ids],
		 arena_printf(resolver->arena, "stage s runs on device_ids[s]: %zu stage%s",
			      mapping->replica_count, mapping->replica_count == 1 ? "" : "s"));
	mapping->chosen = mapping->replicas[0];
	r = find_neighbours(resolver, &near);
	if (r != GPUMAP_OK)
		return r;
	warn_same_address(resolver, &near);
	return undecided_replica(resolver);
}

/* One device: the replicas are the chosen device alone. */
static int resolve_one(struct resolver *resolver)
{
	gpumap_mapping *mapping = resolver->mapping;

	if (!mapping->chosen || resolver->failed || mapping->replica_count)
		return GPUMAP_OK;
	mapping->replicas = arena_alloc(resolver->arena, 1, sizeof(*mapping->replicas));
	if (!mapping->replicas)
		return report_nomem(resolver->report);
	mapping->replicas[0] = mapping->chosen;
	mapping->replica_count = 1;
	return GPUMAP_OK;
}

/* Reports statements that have no meaning in the mode. */
static void report_ignored(struct resolver *resolver)
{
	const struct {
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
		struct span rest = span_of(uses[i].modes), word;
		bool used = false;

		while (span_split(&rest, ' ', &word))
			used = used || span_is(word, mode);
		if (resolver->request->values[uses[i].key] && !used)
			report_add(resolver->report, FINDING_IGNORED_KEY,
				   ABOUT(.origin = resolver->request->origins[uses[i].key],
					 .fix = "give --mode, or leave it out"),
				   "%s has no meaning in mode %s", key_get(uses[i].key)->name,
				   mode);
	}
}

int groups_resolve(struct resolver *resolver)
{
	const char *mode = resolver->mapping->mode;
	int r = GPUMAP_OK;

	report_ignored(resolver);
	if (streq(mode, "mp")) {
		r = resolve_mp(resolver);
	} else {
		r = choice_resolve(resolver);
		if (r == GPUMAP_OK && streq(mode, "dp"))
			r = resolve_dp(resolver);
		else if (r == GPUMAP_OK && streq(mode, "ddp"))
			r = resolve_ddp(resolver);
		if (r == GPUMAP_OK && !streq(mode, "dp"))
			r = resolve_one(resolver);
	}
	if (r != GPUMAP_OK)
		return r;
	return resolver->arena->failed ? report_nomem(resolver->report) : GPUMAP_OK;
}
