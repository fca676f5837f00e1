/* SPDX-License-Identifier: MIT */
/* Who has leased the GPUs that gpumap ps shows, and for how long at most. */
#include "live/ps.h"

#include "inventory/inventory.h"
#include "live/process.h"
#include "live/run_planned.h"
#include "memory.h"
#include "pick/lease_here.h"
#include "text.h"

static void describe(struct ps *ps)
{
	CLEANUP_FREE int64_t *pids = xcalloc(ps->count, sizeof(*pids));
	size_t count = 0;

	for (size_t i = 0; i < ps->count; i++)
		if (ps->gpus[i].owner > 0)
			pids[count++] = ps->gpus[i].owner;
	lease_people_read(&ps->owners, pids, count);
	count = 0;
	for (size_t i = 0; i < ps->count; i++)
		if (ps->gpus[i].owner > 0)
			ps->gpus[i].owner_process = &ps->owners.processes[count++];
}

/* The GPU itself is then not leased. */
static void add_instance(struct ps_gpu *gpu, const gpumap_device *instance, int64_t pid)
{
	size_t count = gpumap_device_mig_count(gpu->device);

	if (!gpu->instances) {
		gpu->instances = xcalloc(count, sizeof(*gpu->instances));
		for (size_t i = 0; i < count; i++)
			gpu->instances[i] = GPUMAP_LEASE_NONE;
		gpu->owner = GPUMAP_LEASE_NONE;
	}
	gpu->instances[instance->mig_position] = pid;
}

/* The GPU is leased by a process that has ended. */
static void add_ended(struct ps *ps, size_t gpu, int64_t owner)
{
	size_t i = 0;

	while (i < ps->ended_count && ps->ended[i].owner != owner)
		i++;
	if (i == ps->ended_count) {
		*ARRAY_NEXT(ps->ended, ps->ended_count, ps->ended_room) =
			(struct ps_ended){.owner = owner, .gpus = xcalloc(ps->count, sizeof(bool))};
	}
	ps->ended[i].gpus[gpu] = true;
}

static int add_part(const gpumap_device *device, int64_t slots, int64_t pid, void *data)
{
	struct ps *ps = data;
	struct ps_gpu *gpu = ps->gpus;

	while (gpu->device != device->gpu)
		gpu++;
	if (pid < 0 || (pid > 0 && process_ended((int)pid)))
		add_ended(ps, (size_t)(gpu - ps->gpus), pid < 0 ? -pid : pid);
	pid = pid < 0 ? 0 : pid;
	if (device->mig_position >= 0) {
		add_instance(gpu, device, pid);
	} else if (slots > 1) {
		gpu->pids = xrealloc(gpu->pids, (gpu->leased + 1) * sizeof(*gpu->pids));
		gpu->pids[gpu->leased++] = pid;
		if (!gpu->slots || slots < gpu->slots)
			gpu->slots = slots;
	}
	return GPUMAP_OK;
}

/* For which runs GPUs are planned on which nothing has started CUDA: a rank that has not started
 * CUDA is not seen on its GPU. */
static void read_planned(struct ps *ps)
{
	CLEANUP(live_runs_free) struct live_runs runs = {0};
	size_t unused = 0;

	for (size_t i = 0; i < ps->count; i++)
		unused += !ps->gpus[i].count;
	if (!unused)
		return;
	live_runs_find(&runs);
	for (size_t i = 0; i < ps->count; i++) {
		struct ps_gpu *gpu = &ps->gpus[i];
		const struct live_run *run = gpu->count ? NULL : run_planned(&runs, gpu->device, 0);

		if (!run)
			continue;
		gpu->run = escaped_copy(run->run);
		gpu->launcher = run->launcher;
	}
}

void ps_read_leases(struct ps *ps, gpumap_report *report)
{
	CLEANUP_FREE int64_t *owners = xcalloc(ps->count, sizeof(*owners));
	OWNED(claim) *claim = NULL;
	int r = gpumap_claim_new(&claim);

	if (r == GPUMAP_OK)
		r = lease_folders_here(claim, report);
	for (size_t i = 0; i < ps->count; i++)
		owners[i] = GPUMAP_LEASE_UNKNOWN;
	if (r == GPUMAP_OK)
		r = gpumap_lease_holders(owners, claim, ps->inventory, report);
	for (size_t i = 0; i < ps->count; i++)
		ps->gpus[i].owner = owners[i];
	ps->leases_known = r == GPUMAP_OK;
	if (r != GPUMAP_EBUSY)
		gpumap_lease_each(claim, ps->inventory, add_part, ps, NULL);
	for (size_t i = 0; i < ps->ended_count; i++)
		lease_kept_read(&ps->ended[i].kept, claim, ps->ended[i].owner);
	describe(ps);
	read_planned(ps);
}

int64_t ps_lease_age(const struct ps *ps, const gpumap_process *owner)
{
	int64_t start = gpumap_process_int(owner, GPUMAP_PROCESS_START_TIME);

	return start < 0 ? -1 : start < ps->now ? ps->now - start : 0;
}

const struct ps_ended *ps_next_ended(const struct ps *ps, const struct ps_gpu *gpu, size_t *i)
{
	while (*i < ps->ended_count) {
		const struct ps_ended *ended = &ps->ended[(*i)++];

		if (ended->gpus[gpu->device - ps->inventory->gpus])
			return ended;
	}
	return NULL;
}
