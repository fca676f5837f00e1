/* SPDX-License-Identifier: MIT */
/* Before a job starts: whether other jobs compute on its GPUs. */
#include "job/plan_open.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/output.h"
#include "container.h"
#include "inventory/inventory.h"
#include "plan/job.h"
#include "process_stat.h"
#include "readfile.h"
#include "report/report.h"

enum { MAX_NAMED = 8, MAX_CGROUP = 1 << 16 };

/* What belongs to this job. */
struct own {
	pid_t self, keeper; /* keeper: of the lease that this process runs in; 0 */
	char *cgroup;       /* of this process; NULL: not known */
	struct container job;
};

static void own_read(struct own *ret)
{
	const char *lease = getenv("GPUMAP_LEASE");
	size_t size;
	int64_t keeper = lease ? span_number(span_of(lease), INT32_MAX) : -1;

	*ret = (struct own){.self = getpid(), .keeper = keeper > 0 ? (pid_t)keeper : 0};
	if (read_file("/proc/self/cgroup", false, MAX_CGROUP, &ret->cgroup, &size))
		ret->cgroup = NULL;
	if (!ret->cgroup || !container_find(&ret->job, ret->cgroup) || ret->job.separate)
		ret->job = (struct container){.runtime = NULL};
}

/* The same job of a scheduler: the container says "slurm:4711". */
static bool is_of_job(const gpumap_process *process, const struct own *own)
{
	struct span runtime, id = span_of(process->container ? process->container : "");

	return own->job.runtime && span_split(&id, ':', &runtime) &&
	       span_is(runtime, own->job.runtime) && span_same(id, own->job.id);
}

static bool is_own(const gpumap_process *process, const struct own *own)
{
	pid_t pid = (pid_t)process->pid;

	return process_is_below(pid, own->self) || process_is_below(own->self, pid) ||
	       (own->keeper && process_is_below(pid, own->keeper)) || is_of_job(process, own);
}

/* MPS's server computes only for its clients. */
static bool is_others(const gpumap_process *process, const char *ignored, const struct own *own)
{
	return (process->types & (GPUMAP_PROCESS_TYPE_COMPUTE | GPUMAP_PROCESS_TYPE_MPS)) &&
	       !process_is_named(process, "nvidia-cuda-mps-server") &&
	       !process_is_named(process, ignored) && !is_own(process, own);
}

bool plan_uses_gpu(const struct plan_layout *layout, int gpu, int64_t mig)
{
	for (size_t l = 0; l < layout->count; l++)
		for (size_t d = 0; d < layout->ranks[l].device_count; d++) {
			const struct plan_device *device = &layout->ranks[l].devices[d];

			if (device->physical == gpu &&
			    (device->mig < 0 || mig < 0 || device->mig == mig))
				return true;
		}
	return false;
}

/* "GPU 0 is in use by process 4711 (python3 of jo)" */
static void tell(struct strbuf *text, const gpumap_device *gpu, const gpumap_process *process)
{
	strbuf_printf(text, "%sGPU %d is in use by ", text->length ? ", " : "", gpu->physical);
	process_tell(text, process);
}

/* Names the first process of each GPU. Returns how many GPUs are busy. */
static size_t find_busy(struct strbuf *text, const struct plan_layout *layout,
			const gpumap_inventory *here, const char *ignored)
{
	struct own own;
	size_t busy = 0;

	own_read(&own);
	for (size_t g = 0; g < here->count; g++)
		for (size_t i = 0; i < here->gpus[g].process_count; i++) {
			const gpumap_process *process = &here->gpus[g].processes[i];

			if (!plan_uses_gpu(layout, here->gpus[g].physical, process->mig) ||
			    !is_others(process, ignored, &own))
				continue;
			if (busy++ < MAX_NAMED)
				tell(text, &here->gpus[g], process);
			break;
		}
	if (busy > MAX_NAMED)
		strbuf_puts(text, ", ...");
	free(own.cgroup);
	return busy;
}

static size_t count_used(const struct plan_layout *layout)
{
	size_t used = 0;

	for (size_t g = 0; g < layout->gpu_count; g++)
		used += plan_uses_gpu(layout, layout->gpus[g].physical, -1);
	return used;
}

static void judge(gpumap_plan *plan, const struct plan_layout *layout, const gpumap_inventory *here,
		  gpumap_report *report)
{
	bool refuses = plan->settings.on_busy.word == PLAN_BUSY_REFUSE;
	const struct speech speech = job_speech(plan);
	CLEANUP(strbuf_free) struct strbuf text = {0};

	if (find_busy(&text, layout, here, plan->settings.ignore.text)) {
		report_add(
			report, refuses ? FINDING_BUSY_REFUSED : FINDING_RUN_BUSY,
			ABOUT(.origin = plan->settings.gpus.origin, .speech = &speech,
			      .fix = FORMAT(SETTING("gpus = free:%zu") " takes GPUs that are "
								       "free, gpumap ps shows all",
					    count_used(layout))),
			"%s", text.text);
		if (refuses)
			plan->answered = false;
	}
}

bool plan_looks(const char *on_busy, const char *inventory)
{
	return key_value(PKEY_PROFILE_on_busy, on_busy).word != PLAN_BUSY_IGNORE &&
	       key_value(PKEY_PROFILE_inventory, inventory).word == PLAN_INVENTORY_HOST;
}

void plan_check_busy(gpumap_plan *plan, int64_t node, const gpumap_inventory *here,
		     gpumap_report *report)
{
	const struct plan_host *host = plan->answered ? job_host(plan, node) : NULL;
	OWNED(inventory) *read = NULL;
	OWNED(report) *scratch = NULL;

	if (!host || plan->lease || !count_used(host->layout) ||
	    !plan_looks(plan->settings.on_busy.text, plan->settings.inventory.text))
		return;
	if (!here) {
		scratch = report_begin();
		gpumap_inventory_probe(&read, GPUMAP_PROBE_FLAG_USAGE, NULL, scratch);
		here = read;
	}
	if (here)
		judge(plan, host->layout, here, report);
}
