/* SPDX-License-Identifier: MIT */
/* Who has leased the GPUs that gpumap ps shows. */
#include "live/ps.h"

#include "inventory/inventory.h"
#include "live/process_run.h"
#include "pick/lease_here.h"
#include "process_stat.h"

static int describe(struct ps *ps)
{
	gpumap_process **list = malloc((ps->count + 1) * sizeof(*list));
	size_t count = 0;
	bool good;

	ps->leasers = calloc(ps->count + 1, sizeof(*ps->leasers));
	for (size_t i = 0; list && ps->leasers && i < ps->count; i++) {
		if (ps->gpus[i].holder <= 0)
			continue;
		ps->leasers[i] = process_of(ps->gpus[i].holder);
		ps->gpus[i].leaser = &ps->leasers[i];
		list[count++] = &ps->leasers[i];
	}
	good = list && ps->leasers && processes_describe(list, count);
	free(list);
	return good ? GPUMAP_OK : GPUMAP_ENOMEM;
}

/* The GPU itself is then not leased. */
static int add_instance(struct ps_gpu *gpu, const gpumap_device *instance, int64_t pid)
{
	size_t count = gpumap_device_mig_count(gpu->device);

	if (!gpu->instances) {
		gpu->instances = calloc(count, sizeof(*gpu->instances));
		for (size_t i = 0; gpu->instances && i < count; i++)
			gpu->instances[i] = GPUMAP_LEASE_NONE;
		gpu->holder = GPUMAP_LEASE_NONE;
	}
	if (!gpu->instances)
		return GPUMAP_ENOMEM;
	gpu->instances[instance->mig_position] = pid;
	return GPUMAP_OK;
}

static int add_part(const gpumap_device *device, int64_t slots, int64_t pid, void *data)
{
	const struct ps *ps = data;
	size_t i = 0;
	int64_t *pids;

	while (ps->gpus[i].device != device->gpu)
		i++;
	if (device->mig_position >= 0)
		return add_instance(&ps->gpus[i], device, pid);
	if (slots == 1)
		return GPUMAP_OK;
	pids = realloc(ps->gpus[i].pids, (ps->gpus[i].leased + 1) * sizeof(*pids));
	if (!pids)
		return GPUMAP_ENOMEM;
	ps->gpus[i].pids = pids;
	pids[ps->gpus[i].leased++] = pid < 0 ? 0 : pid;
	if (!ps->gpus[i].slots || slots < ps->gpus[i].slots)
		ps->gpus[i].slots = slots;
	return GPUMAP_OK;
}

int ps_read_leases(struct ps *ps, gpumap_report *report)
{
	int64_t *holders = calloc(ps->count + 1, sizeof(*holders));
	gpumap_claim *claim = NULL;
	int r = holders ? gpumap_claim_new(&claim) : GPUMAP_ENOMEM;

	if (r == GPUMAP_OK)
		r = lease_folders_here(claim, report);
	for (size_t i = 0; holders && i < ps->count; i++)
		holders[i] = GPUMAP_LEASE_UNKNOWN;
	if (r == GPUMAP_OK)
		r = gpumap_lease_holders(holders, claim, ps->inventory, report);
	for (size_t i = 0; holders && i < ps->count; i++)
		ps->gpus[i].holder = holders[i];
	ps->leases_known = r == GPUMAP_OK;
	if (r != GPUMAP_ENOMEM && r != GPUMAP_EBUSY)
		r = gpumap_lease_each(claim, ps->inventory, add_part, ps, NULL);
	gpumap_claim_free(claim);
	free(holders);
	return r == GPUMAP_ENOMEM ? r : describe(ps);
}

bool ps_leaser_ended(const gpumap_process *leaser)
{
	int pid = (int)gpumap_process_int(leaser, GPUMAP_PROCESS_PID);
	struct process_stat stat;

	return process_stat_read(&stat, pid) ? stat.dead : !process_exists(pid);
}
