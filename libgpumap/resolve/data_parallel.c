/* SPDX-License-Identifier: MIT */
/* DataParallel: its master, the device of the module, and how a batch is split (rules G1 to G6). */
#include "resolve/resolve.h"

#include <stdio.h>

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
	if (module_on_cpu(resolver)) {
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
		answer_no(resolver, FINDING_MASTER_MISMATCH,
			  ABOUT(.rule = "G3", .origin = resolver->request->origins[KEY_device_ids],
				.fix = FORMAT(
					"move the module to cuda:%d, or put %d first in device_ids",
					master->logical, chosen->logical)),
			  "the module is on cuda:%d, but device_ids[0] is cuda:%d: DataParallel "
			  "refuses that",
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
			   "of 300 to 900 MB on it");
}

/* Chunks of ceil(n/k): rule G6. gpumap-train does so in dp_chunk(), trainer/parallel/dp.c. */
static void split_batch(struct resolver *resolver)
{
	gpumap_mapping *mapping = resolver->mapping;
	int64_t batch = request_number(resolver->request, KEY_batch), left = batch, chunk;
	const char *origin = resolver->request->origins[KEY_batch];
	int64_t replicas = (int64_t)mapping->replica_count;

	if (batch < 0 || !replicas)
		return;
	chunk = (batch + replicas - 1) / replicas;
	mapping->batch =
		arena_alloc(resolver->arena, mapping->replica_count, sizeof(*mapping->batch));
	if (!mapping->batch)
		return;
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
}

void data_parallel_resolve(struct resolver *resolver)
{
	gpumap_mapping *mapping = resolver->mapping;
	struct neighbours near;

	if (!mapping->visible_count)
		return; /* reported already */
	replicas_fill(resolver);
	if (!mapping->replica_count)
		return;
	if (!replicas_named(resolver))
		step_add(resolver, "G1", NULL,
			 "device_ids default to all visible devices, in order");
	if (!replicas_named(resolver) && resolver->effective[VARIABLE_CUDA_VISIBLE].set)
		step_add(resolver, "G4", NULL,
			 "so the first device of the visible list is the master");
	mapping->master = mapping->replicas[0];
	step_add(resolver, "G2", resolver->request->origins[KEY_device_ids],
		 arena_printf(
			 resolver->arena,
			 "the master is device_ids[0], cuda:%d: parameters, outputs and optimizer "
			 "live there",
			 mapping->master->logical));
	replicas_neighbours(&near, resolver);
	if (check_repeat(resolver, &near))
		return;
	check_module(resolver);
	replicas_warn_same_gpu(resolver, &near);
	replicas_check_decided(resolver);
	split_batch(resolver);
}
