/* SPDX-License-Identifier: MIT */
/* gpumap ps as JSON, schema 1. */
#include "live/ps.h"

#include <unistd.h>

#include "explain/json.h"
#include "inventory/inventory.h"
#include "live/process.h"

static json_t *run_json(const struct ps_facts *facts, bool *failed)
{
	static const char *const states[] = {
		[PS_RUN_NONE] = NULL,
		[PS_RUN_UNKNOWN] = NULL,
		[PS_RUN_RUNNING] = "running",
		[PS_RUN_ENDED] = "ended",
	};

	if (!facts->run)
		return json_null();
	return JSON_OBJECT(failed, {"id", json_text(facts->run)},
			   {"rank", json_number(facts->rank)},
			   {"state", json_text(states[facts->state])});
}

/* The slots that are leased: of how many, and who has them; null: none is. */
static json_t *slots_json(const struct ps_gpu *gpu, bool *failed)
{
	json_t *pids;

	if (!gpu->leased)
		return json_null();
	pids = json_array();
	for (size_t i = 0; i < gpu->leased; i++)
		json_push(pids, gpu->pids[i] ? json_number(gpu->pids[i]) : json_null(), failed);
	return JSON_OBJECT(failed, {"of", json_number(gpu->slots)}, {"pids", pids});
}

static json_t *lease_json(const struct ps_gpu *gpu, bool *failed)
{
	const gpumap_process *p = gpu->owner_process;

	if (gpu->owner == GPUMAP_LEASE_UNKNOWN)
		return json_null();
	return JSON_OBJECT(failed, {"held", json_boolean(gpu->owner != GPUMAP_LEASE_NONE)},
			   {"pid", gpu->owner > 0 ? json_number(gpu->owner) : json_null()},
			   {"ended", p ? json_boolean(process_ended((int)p->pid)) : json_null()},
			   {"uid", json_number(gpumap_process_int(p, GPUMAP_PROCESS_UID))},
			   {"user", json_text(gpumap_process_str(p, GPUMAP_PROCESS_USER))},
			   {"start", json_text(gpumap_process_str(p, GPUMAP_PROCESS_START))},
			   {"slots", slots_json(gpu, failed)});
}

static json_t *one_json(const struct ps *ps, const struct ps_process *p, bool *failed)
{
	static const char *const reasons[] = {
		[PS_NAME_HIDDEN] = "hidden",
		[PS_NAME_UNREADABLE] = "unreadable",
		[PS_NAME_UNKNOWN] = "unknown",
		[PS_NAME_CONTAINER] = "container",
		[PS_NAME_UNDECIDABLE] = "undecidable",
		[PS_NAME_OUTSIDE] = "outside",
		[PS_NAME_KNOWN] = "known",
	};
	const struct ps_facts *facts = ps_facts_of(ps, p);
	int64_t active = gpumap_process_int(p->process, GPUMAP_PROCESS_ACTIVE_TIME);
	int64_t idle = active < ps->now ? ps->now - active : 0;
	long ticks = sysconf(_SC_CLK_TCK);
	json_t *o = process_json(p->process, failed);

	json_put(o, "logical", p->name == PS_NAME_KNOWN ? json_number(p->logical) : json_null(),
		 failed);
	json_put(o, "logical_state", json_string(reasons[p->name]), failed);
	json_put(o, "logical_source",
		 p->name < PS_NAME_CONTAINER ? json_null()
					     : json_string(facts->by_run ? "run" : "environment"),
		 failed);
	json_put(o, "run", run_json(facts, failed), failed);
	json_put(o, "detached", json_boolean(facts->detached), failed);
	json_put(o, "cpu_seconds",
		 facts->cpu >= 0 && ticks > 0 ? json_number(facts->cpu / ticks) : json_null(),
		 failed);
	json_put(o, "idle_seconds", active > 0 ? json_number(idle) : json_null(), failed);
	json_put(o, "idle_by", json_text(active < 0 ? NULL : active ? "use" : "samples"), failed);
	json_put(o, "stale", json_boolean(p->stale), failed);
	return o;
}

/* null: it is not known who has the leases of the GPU. */
static json_t *instance_lease_json(const struct ps_gpu *gpu, size_t i, bool *failed)
{
	int64_t pid = gpu->instances ? gpu->instances[i] : GPUMAP_LEASE_NONE;

	if (gpu->owner == GPUMAP_LEASE_UNKNOWN)
		return json_null();
	return JSON_OBJECT(failed, {"held", json_boolean(pid >= 0)},
			   {"pid", pid > 0 ? json_number(pid) : json_null()});
}

static json_t *instances_json(const struct ps_gpu *gpu, bool *failed)
{
	json_t *array = json_array();

	for (size_t i = 0; i < gpumap_device_mig_count(gpu->device); i++) {
		const gpumap_device *mig = gpumap_device_mig(gpu->device, i);

		json_push(array,
			  JSON_OBJECT(failed, {"uuid", json_text(mig->uuid)},
				      {"profile", json_text(mig->profile)},
				      {"memory_bytes", json_number(mig->memory)},
				      {"usage", usage_json(mig, failed)},
				      {"lease", instance_lease_json(gpu, i, failed)}),
			  failed);
	}
	return array;
}

/* null: it has a process, or no run has it for a rank */
static json_t *planned_json(const struct ps_gpu *gpu, bool *failed)
{
	return !gpu->run ? json_null()
			 : JSON_OBJECT(failed, {"run", json_text(gpu->run)},
				       {"launcher", json_number(gpu->launcher)});
}

/* The leases of processes that have ended, and who holds them. */
static json_t *ended_json(const struct ps *ps, const struct ps_gpu *gpu, bool *failed)
{
	const struct ps_ended *ended;
	json_t *array = json_array();
	size_t i = 0;

	while ((ended = ps_next_ended(ps, gpu, &i)))
		json_push(array,
			  JSON_OBJECT(failed, {"pid", json_number(ended->owner)},
				      {"kept_by", lease_kept_json(&ended->kept, failed)}),
			  failed);
	return array;
}

/* NULL: the view has nothing of it. */
static json_t *gpu_json(const struct ps *ps, const struct ps_gpu *gpu, const struct ps_view *view,
			bool *failed)
{
	const gpumap_device *d = gpu->device;
	json_t *processes = json_array();
	size_t ended = 0;

	for (size_t i = 0; i < gpu->count; i++)
		if (!view->stale || gpu->processes[i].stale)
			json_push(processes, one_json(ps, &gpu->processes[i], failed), failed);
	if (view->stale && !json_array_size(processes) && !gpu->left &&
	    !ps_next_ended(ps, gpu, &ended)) {
		json_decref(processes);
		return NULL;
	}
	if (gpumap_device_process_count(d) < 0) {
		json_decref(processes);
		processes = json_null();
	}
	return JSON_OBJECT(
		failed, {"index", json_number(d->index)}, {"physical", json_number(d->physical)},
		{"uuid", json_text(d->uuid)}, {"pci", json_text(d->pci)},
		{"name", json_text(d->name)}, {"memory_bytes", json_number(d->memory)},
		{"usage", usage_json(d, failed)}, {"mig", instances_json(gpu, failed)},
		{"lease", lease_json(gpu, failed)}, {"ended_leases", ended_json(ps, gpu, failed)},
		{"stale_memory", json_boolean(gpu->left)}, {"planned", planned_json(gpu, failed)},
		{"processes", processes});
}

void ps_json(struct strbuf *buf, const struct ps *ps, const struct ps_view *view,
	     const gpumap_report *report)
{
	const gpumap_inventory *inventory = ps->inventory;
	json_t *gpus = json_array(), *kill = json_array(), *o;
	size_t count;
	CLEANUP_FREE int64_t *pids = ps_own_stale(ps, &count);
	bool failed = false;

	for (size_t i = 0; i < ps->count; i++) {
		json_t *gpu = gpu_json(ps, &ps->gpus[i], view, &failed);

		if (gpu)
			json_push(gpus, gpu, &failed);
	}
	for (size_t i = 0; i < count; i++)
		json_push(kill, json_integer(pids[i]), &failed);
	o = JSON_OBJECT(&failed, JSON_HEAD("ps"), {"host", json_text(inventory->host)},
			{"date", json_text(inventory->date)},
			{"driver", json_text(inventory->driver)}, {"gpus", gpus},
			{"leases_known", json_boolean(ps->leases_known)}, {"own_stale", kill},
			{"findings", json_findings(report, &failed)});
	json_dump(buf, o, failed);
}
