/* SPDX-License-Identifier: MIT */
/* Gathers what gpumap ps shows. */
#include "live/ps.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "container.h"
#include "inventory/inventory.h"
#include "lease/units.h"
#include "live/process.h"
#include "memory.h"
#include "plan/job.h"
#include "process_path.h"
#include "process_stat.h"
#include "readfile.h"
#include "report/report.h"
#include "text.h"

enum { MAX_CGROUP = 1 << 16 };

/* --- a process ------------------------------------------------------------------------ */

/* By the rules, as gpumap explain --pid does. A failure leaves no mapping. */
static void resolve(struct ps_facts *facts, const struct process_text *text, const char *cgroup,
		    const gpumap_inventory *inventory)
{
	OWNED(request) *request = NULL;
	int r = gpumap_request_new(&request);

	if (r == GPUMAP_OK)
		r = process_text_state(request, text, NULL);
	if (r == GPUMAP_OK && cgroup)
		r = process_cgroup(request, cgroup, inventory, NULL);
	if (r == GPUMAP_OK)
		gpumap_resolve(&facts->mapping, request, inventory, NULL);
	facts->name = facts->mapping ? PS_NAME_KNOWN : PS_NAME_UNKNOWN;
}

static void read_run(struct ps_facts *facts, const struct process_text *text)
{
	const char *run = process_variable(text, RUN_ID), *rank = process_variable(text, RUN_RANK);

	if (!run || !rank)
		return;
	facts->run = escaped_copy(run);
	facts->rank = span_number(span_of(rank), INT32_MAX);
	/* The guard of a rank that is shown is there. */
	facts->state = facts->by_run ? PS_RUN_RUNNING : ps_run_state((int)facts->pid, text);
}

/* NULL if it cannot be read. */
static char *read_cgroup(int64_t pid)
{
	char *text = NULL;
	size_t size;

	read_file(PROCESS_PATH(pid, "cgroup"), false, MAX_CGROUP, &text, &size);
	return text;
}

bool ps_is_inside(int64_t pid)
{
	CLEANUP_FREE char *cgroup = read_cgroup(pid), *own = read_cgroup(getpid());
	struct container container;

	return cgroup && container_find(&container, cgroup) && container_is_other(&container, own);
}

bool list_names_uuids(const char *list)
{
	return list && (starts_with(list, "GPU-") || starts_with(list, "MIG-"));
}

void ps_read_environment(struct ps_facts *facts, const gpumap_inventory *inventory)
{
	CLEANUP(process_text_free) struct process_text text = {0};
	CLEANUP_FREE char *cgroup = NULL;

	if (!process_text_read(&text, (int)facts->pid)) {
		/* It ended meanwhile, or has not started its program yet. */
		if (errno != EACCES && errno != EPERM) {
			facts->name = PS_NAME_UNKNOWN;
			return;
		}
		facts->by_run = run_shown_read(&text, (int)facts->pid);
		if (!facts->by_run)
			return;
	}
	cgroup = read_cgroup(facts->pid);
	read_run(facts, &text);
	if (ps_is_inside(facts->pid) &&
	    !list_names_uuids(process_variable(&text, "CUDA_VISIBLE_DEVICES")))
		facts->name = PS_NAME_CONTAINER;
	else
		resolve(facts, &text, cgroup, inventory);
}

/* Its place in ps->facts. */
static size_t read_facts(struct ps *ps, const gpumap_process *p)
{
	int64_t pid = gpumap_process_int(p, GPUMAP_PROCESS_PID);
	struct process_stat stat;
	struct ps_facts *facts;

	for (size_t i = 0; i < ps->fact_count; i++)
		if (ps->facts[i].pid == pid)
			return i;
	facts = ARRAY_NEXT(ps->facts, ps->fact_count, ps->fact_room);
	*facts = (struct ps_facts){.pid = pid, .rank = -1, .cpu = -1, .name = PS_NAME_HIDDEN};
	if (gpumap_process_int(p, GPUMAP_PROCESS_VISIBLE) != 1)
		return ps->fact_count - 1;
	facts->name = PS_NAME_UNREADABLE;
	facts->own = gpumap_process_int(p, GPUMAP_PROCESS_UID) == (int64_t)getuid();
	if (process_stat_read(&stat, (int)pid)) {
		facts->cpu = (int64_t)stat.cpu;
		facts->detached = ps_is_detached(&stat);
	}
	ps_read_environment(facts, ps->inventory);
	return ps->fact_count - 1;
}

/* --- its name of a GPU ---------------------------------------------------------------- */

/* Whether a device of its list is the one that the process uses. */
static bool is_device(const gpumap_device *d, const gpumap_device *gpu, int64_t mig)
{
	return d->physical == gpu->physical && (mig < 0 || d->mig_position == mig);
}

/* The first place of the GPU in the list; one that only may be it makes the name undecidable. */
static void find_name(struct ps_process *p, const gpumap_mapping *mapping, const gpumap_device *gpu)
{
	int64_t mig = gpumap_process_int(p->process, GPUMAP_PROCESS_MIG);

	p->name = PS_NAME_OUTSIDE;
	for (size_t i = 0; i < gpumap_mapping_visible_count(mapping); i++) {
		const gpumap_entry *e = gpumap_mapping_visible(mapping, i);
		size_t count = gpumap_entry_candidate_count(e);

		for (size_t k = 0; k < count; k++) {
			const gpumap_device *d = gpumap_entry_candidate(e, k);

			/* The list may name the GPU of an instance. */
			if (is_device(d, gpu, mig) && count == 1) {
				p->name = PS_NAME_KNOWN;
				p->logical = gpumap_entry_int(e, GPUMAP_ENTRY_LOGICAL);
				return;
			}
			if (is_device(d, gpu, mig) || is_device(d, gpu, -1))
				p->name = d->mig_position >= 0 && count == 1 ? p->name
									     : PS_NAME_UNDECIDABLE;
		}
	}
}

/* --- the GPUs ------------------------------------------------------------------------- */

static void read_process(struct ps *ps, struct ps_gpu *gpu, const gpumap_process *process)
{
	struct ps_process *p = &gpu->processes[gpu->count++];
	const struct ps_facts *facts;

	*p = (struct ps_process){
		.process = process, .logical = -1, .facts = read_facts(ps, process)};
	facts = &ps->facts[p->facts];
	p->name = facts->name;
	p->stale = facts->state == PS_RUN_ENDED;
	if (facts->name == PS_NAME_KNOWN)
		find_name(p, facts->mapping, gpu->device);
}

static void read_gpu(struct ps *ps, struct ps_gpu *gpu, const gpumap_device *device)
{
	int count = gpumap_device_process_count(device);
	int64_t hidden = gpumap_device_int(device, GPUMAP_DEVICE_MEMORY_HIDDEN);

	gpu->device = device;
	gpu->owner = GPUMAP_LEASE_UNKNOWN;
	gpu->processes = xcalloc((size_t)(count > 0 ? count : 0), sizeof(*gpu->processes));
	for (int i = 0; i < count; i++)
		read_process(ps, gpu, gpumap_device_process(device, (size_t)i));
	gpu->hidden = hidden >= PS_LEAST_HIDDEN ? hidden : 0;
	gpu->left = ps_is_left(gpu);
}

static void read_gpus(struct ps *ps)
{
	size_t count = gpumap_inventory_count(ps->inventory);

	ps->now = time(NULL);
	ps->gpus = xcalloc(count, sizeof(*ps->gpus));
	for (; ps->count < count; ps->count++)
		read_gpu(ps, &ps->gpus[ps->count], gpumap_inventory_get(ps->inventory, ps->count));
}

/* The inventory is from another source than NVML, which alone knows the usage. */
static int no_usage(const gpumap_inventory *inventory, size_t before, gpumap_report *report)
{
	if (gpumap_inventory_count(inventory) || !inventory->no_gpu)
		return report_fail(report, GPUMAP_ENODRIVER, FINDING_NO_USAGE,
				   ABOUT(.fix = "install NVIDIA's driver; a container needs "
						"NVIDIA_DRIVER_CAPABILITIES=compute,utility"),
				   "NVML shows how GPUs are used, and NVML does not answer here");
	/* The error has the cause. */
	report_keep(report, before, NULL, NULL);
	return report_fail(report, GPUMAP_ENODRIVER, FINDING_NO_USAGE,
			   ABOUT(.fix = inventory->no_gpu_fix), "no GPU to show: %s",
			   inventory->no_gpu);
}

void ps_make(struct ps *ret, gpumap_inventory *inventory)
{
	*ret = (struct ps){.inventory = inventory};
	read_gpus(ret);
}

int ps_read(struct ps *ret, bool json, gpumap_report *report)
{
	size_t before = gpumap_report_count(report);
	OWNED(inventory) *inventory = NULL;
	int r = gpumap_inventory_probe(&inventory, GPUMAP_PROBE_FLAG_USAGE, NULL, report);

	/* A frame for people shows which GPUs do not let their usage be read. */
	if (!json)
		report_drop(report, before, FINDING_USAGE_REFUSED);
	if (r != GPUMAP_OK)
		return r;
	if (gpumap_inventory_int(inventory, GPUMAP_INVENTORY_USAGE) != 1)
		return no_usage(inventory, before, report);
	ps_make(ret, inventory);
	inventory = NULL;
	return GPUMAP_OK;
}

void ps_facts_free(struct ps_facts *facts)
{
	gpumap_mapping_free(facts->mapping);
	free(facts->run);
}

static void gpu_free(struct ps_gpu *gpu)
{
	free(gpu->processes);
	free(gpu->pids);
	free(gpu->run);
	free(gpu->instances);
}

void ps_free(struct ps *ps)
{
	for (size_t i = 0; i < ps->count; i++)
		gpu_free(&ps->gpus[i]);
	for (size_t i = 0; i < ps->fact_count; i++)
		ps_facts_free(&ps->facts[i]);
	for (size_t i = 0; i < ps->ended_count; i++) {
		lease_kept_free(&ps->ended[i].kept);
		free(ps->ended[i].gpus);
	}
	free(ps->ended);
	free(ps->gpus);
	lease_kept_free(&ps->owners);
	free(ps->facts);
	gpumap_inventory_free(ps->inventory);
	*ps = (struct ps){0};
}

static bool has_gpu(const struct ps *ps, struct span word)
{
	for (size_t i = 0; i < ps->count; i++)
		if (unit_is_named(ps->gpus[i].device, word))
			return true;
	return false;
}

int ps_keep(struct ps *ps, const char *list, gpumap_report *report)
{
	struct span rest = span_of(list), word;
	size_t kept = 0;

	while (span_split(&rest, ',', &word))
		if (!has_gpu(ps, span_trim(word)))
			return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
					   ABOUT(.origin = "--gpus",
						 .fix = "write numbers of nvidia-smi, or UUIDs, as "
							"gpumap inventory lists them"),
					   ps->inventory->partial
						   ? "'%s' is not among the GPUs that answer"
						   : "'%s' is not a GPU of this machine",
					   QUOTE(span_trim(word)));
	for (size_t i = 0; i < ps->count; i++)
		if (unit_is_listed(ps->gpus[i].device, list))
			ps->gpus[kept++] = ps->gpus[i];
		else
			gpu_free(&ps->gpus[i]);
	ps->count = kept;
	return GPUMAP_OK;
}

const struct ps_facts *ps_facts_of(const struct ps *ps, const struct ps_process *p)
{
	return &ps->facts[p->facts];
}
