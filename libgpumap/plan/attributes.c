/* SPDX-License-Identifier: MIT */
/* Reads a plan attribute by attribute. */
#include "plan/hosts.h"
#include "plan/job.h"

EXPORT const char *gpumap_plan_str(const gpumap_plan *plan, enum gpumap_plan_str_attr attr)
{
	if (!plan)
		return NULL;
	return TEXT_AT(
		attr, [GPUMAP_PLAN_PROFILE] = plan->profile,
		[GPUMAP_PLAN_MODE] = plan->settings.mode.text,
		[GPUMAP_PLAN_MASTER_ADDR] = plan->master_addr, [GPUMAP_PLAN_RUN] = plan->run);
}

EXPORT int64_t gpumap_plan_int(const gpumap_plan *plan, enum gpumap_plan_int_attr attr)
{
	if (!plan)
		return -1;
	switch (attr) {
	case GPUMAP_PLAN_ANSWERED:
		return plan->answered;
	case GPUMAP_PLAN_WORLD_SIZE:
		return (int64_t)plan->world_size;
	case GPUMAP_PLAN_HOSTS:
		return (int64_t)plan->host_count;
	case GPUMAP_PLAN_MASTER_PORT:
		return plan->master_port;
	default:
		return -1;
	}
}

/* The device where the rank lands. If that is not known, its only device. */
static const struct plan_device *device_of(const struct local_rank *local)
{
	if (local->lands)
		return local->lands;
	return local->device_count == 1 ? &local->devices[0] : NULL;
}

EXPORT const char *gpumap_plan_rank_str(const gpumap_plan *plan, int64_t rank,
					enum gpumap_rank_str_attr attr)
{
	const struct plan_device *device;
	struct job_rank at;

	if (!plan || !job_rank_at(plan, rank, &at))
		return NULL;
	device = device_of(at.local);
	return TEXT_AT(
		attr, [GPUMAP_RANK_HOST] = at.host, [GPUMAP_RANK_VISIBLE] = at.local->visible,
		[GPUMAP_RANK_UUID] = device ? device->uuid : NULL,
		[GPUMAP_RANK_PCI] = device ? device->pci : NULL,
		[GPUMAP_RANK_NAME] = device ? device->name : NULL,
		[GPUMAP_RANK_CPUS] = at.local->cpus, [GPUMAP_RANK_MEMORY_NODES] = at.local->nodes);
}

EXPORT int64_t gpumap_plan_rank_int(const gpumap_plan *plan, int64_t rank,
				    enum gpumap_rank_int_attr attr)
{
	const struct plan_device *device;
	struct job_rank at;

	if (!plan || !job_rank_at(plan, rank, &at))
		return -1;
	device = device_of(at.local);
	switch (attr) {
	case GPUMAP_RANK_NODE:
		return at.node;
	case GPUMAP_RANK_LOCAL_RANK:
		return at.local_rank;
	case GPUMAP_RANK_LOCAL_SIZE:
		return at.local_size;
	case GPUMAP_RANK_PHYSICAL:
		return device ? device->physical : -1;
	case GPUMAP_RANK_MIG:
		return device ? device->mig : -1;
	case GPUMAP_RANK_LOGICAL:
		return at.local->logical;
	case GPUMAP_RANK_THREADS:
		return at.local->threads;
	default:
		return -1;
	}
}

EXPORT int gpumap_plan_set_run(gpumap_plan *plan, const char *run, int port)
{
	const char *copy;

	if (run && !is_run_name(run))
		return GPUMAP_EINPUT;
	copy = run ? arena_strdup(&plan->arena, run) : plan->run;
	if (run && !copy)
		return GPUMAP_ENOMEM;
	plan->run = copy;
	plan->run_named = plan->run_named || run;
	if (port)
		plan->master_port = port;
	return GPUMAP_OK;
}
