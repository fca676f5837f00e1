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
	return NUMBER_AT(attr, NUMBERED(GPUMAP_PLAN_ANSWERED) = plan->answered,
			 NUMBERED(GPUMAP_PLAN_WORLD_SIZE) = (int64_t)plan->world_size,
			 NUMBERED(GPUMAP_PLAN_HOSTS) = (int64_t)plan->host_count,
			 NUMBERED(GPUMAP_PLAN_MASTER_PORT) = plan->master_port);
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
	return NUMBER_AT(attr, NUMBERED(GPUMAP_RANK_NODE) = at.node,
			 NUMBERED(GPUMAP_RANK_LOCAL_RANK) = at.local_rank,
			 NUMBERED(GPUMAP_RANK_LOCAL_SIZE) = at.local_size,
			 NUMBERED(GPUMAP_RANK_PHYSICAL) = device ? device->physical : -1,
			 NUMBERED(GPUMAP_RANK_MIG) = device ? device->mig : -1,
			 NUMBERED(GPUMAP_RANK_LOGICAL) = at.local->logical,
			 NUMBERED(GPUMAP_RANK_THREADS) = at.local->threads);
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
