/* SPDX-License-Identifier: MIT */
/* gpumap ps as JSON, schema 1. */
#include "live/ps.h"

#include <unistd.h>

#include "explain/json.h"
#include "inventory/inventory.h"
#include "live/process.h"

static json_t *run_json(const struct ps_facts *facts)
{
	static const char *const states[] = {
		[PS_RUN_NONE] = NULL,
		[PS_RUN_UNKNOWN] = NULL,
		[PS_RUN_RUNNING] = "running",
		[PS_RUN_ENDED] = "ended",
	};

	if (!facts->run)
		return json_null();
	return JSON_OBJECT({"id", json_text(facts->run)}, {"rank", json_number(facts->rank)},
			   {"state", json_text(states[facts->state])});
}

/* The slots that are leased: of how many, and who has them; null: none is. */
static json_t *slots_json(const struct ps_gpu *gpu)
{
	return !gpu->leased
		       ? json_null()
		       : JSON_OBJECT({"of", json_number(gpu->slots)},
				     {"pids", JSON_LIST(i, gpu->leased,
							gpu->pids[i] ? json_number(gpu->pids[i])
								     : json_null())});
}

static json_t *lease_json(const struct ps_gpu *gpu)
{
	const gpumap_process *p = gpu->owner_process;

	if (gpu->owner == GPUMAP_LEASE_UNKNOWN)
		return json_null();
	return JSON_OBJECT({"held", json_boolean(gpu->owner != GPUMAP_LEASE_NONE)},
			   {"pid", gpu->owner > 0 ? json_number(gpu->owner) : json_null()},
			   {"ended", p ? json_boolean(process_ended((int)p->pid)) : json_null()},
			   {"uid", json_number(gpumap_process_int(p, GPUMAP_PROCESS_UID))},
			   {"user", json_text(gpumap_process_str(p, GPUMAP_PROCESS_USER))},
			   {"start", json_text(gpumap_process_str(p, GPUMAP_PROCESS_START))},
			   {"slots", slots_json(gpu)});
}

static json_t *one_json(const struct ps *ps, const struct ps_process *p)
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
	json_t *o = process_json(p->process);

	json_put(&o, "logical", p->name == PS_NAME_KNOWN ? json_number(p->logical) : json_null());
	json_put(&o, "logical_state", json_string(reasons[p->name]));
	json_put(&o, "logical_source",
		 p->name < PS_NAME_CONTAINER ? json_null()
					     : json_string(facts->by_run ? "run" : "environment"));
	json_put(&o, "run", run_json(facts));
	json_put(&o, "detached", json_boolean(facts->detached));
	json_put(&o, "cpu_seconds",
		 facts->cpu >= 0 && ticks > 0 ? json_number(facts->cpu / ticks) : json_null());
	json_put(&o, "idle_seconds", active > 0 ? json_number(idle) : json_null());
	json_put(&o, "idle_by", json_text(active < 0 ? NULL : active ? "use" : "samples"));
	json_put(&o, "stale", json_boolean(p->stale));
	return o;
}

/* null: it is not known who has the leases of the GPU. */
static json_t *instance_lease_json(const struct ps_gpu *gpu, size_t i)
{
	int64_t pid = gpu->instances ? gpu->instances[i] : GPUMAP_LEASE_NONE;

	if (gpu->owner == GPUMAP_LEASE_UNKNOWN)
		return json_null();
	return JSON_OBJECT({"held", json_boolean(pid >= 0)},
			   {"pid", pid > 0 ? json_number(pid) : json_null()});
}

static json_t *instance_json(const struct ps_gpu *gpu, size_t i)
{
	const gpumap_device *mig = gpumap_device_mig(gpu->device, i);

	return JSON_OBJECT({"uuid", json_text(mig->uuid)}, {"profile", json_text(mig->profile)},
			   {"memory_bytes", json_number(mig->memory)}, {"usage", usage_json(mig)},
			   {"lease", instance_lease_json(gpu, i)});
}

/* null: it has a process, or no run has it for a rank */
static json_t *planned_json(const struct ps_gpu *gpu)
{
	return !gpu->run ? json_null()
			 : JSON_OBJECT({"run", json_text(gpu->run)},
				       {"launcher", json_number(gpu->launcher)});
}

/* The leases of processes that have ended, and who holds them. */
static json_t *ended_json(const struct ps *ps, const struct ps_gpu *gpu)
{
	const struct ps_ended *ended;
	json_t *array = json_array();
	size_t i = 0;

	while ((ended = ps_next_ended(ps, gpu, &i)))
		json_push(&array, JSON_OBJECT({"pid", json_number(ended->owner)},
					      {"kept_by", lease_kept_json(&ended->kept)}));
	return array;
}

static json_t *processes_of(const struct ps *ps, const struct ps_gpu *gpu,
			    const struct ps_view *view)
{
	json_t *processes = json_array();

	for (size_t i = 0; i < gpu->count; i++)
		if (!view->stale || gpu->processes[i].stale)
			json_push(&processes, one_json(ps, &gpu->processes[i]));
	return processes;
}

static json_t *gpu_json(const struct ps *ps, const struct ps_gpu *gpu, const struct ps_view *view)
{
	const gpumap_device *d = gpu->device;
	bool known = gpumap_device_process_count(d) >= 0;

	return JSON_OBJECT({"index", json_number(d->index)}, {"physical", json_number(d->physical)},
			   {"uuid", json_text(d->uuid)}, {"pci", json_text(d->pci)},
			   {"name", json_text(d->name)}, {"memory_bytes", json_number(d->memory)},
			   {"usage", usage_json(d)},
			   {"mig", JSON_LIST(i, gpumap_device_mig_count(d), instance_json(gpu, i))},
			   {"lease", lease_json(gpu)}, {"ended_leases", ended_json(ps, gpu)},
			   {"stale_memory", json_boolean(gpu->left)},
			   {"planned", planned_json(gpu)},
			   {"processes", known ? processes_of(ps, gpu, view) : json_null()});
}

/* Whether the view has something of it. */
static bool shows(const struct ps *ps, const struct ps_gpu *gpu, const struct ps_view *view)
{
	size_t ended = 0;
	bool stale = !view->stale || gpu->left || ps_next_ended(ps, gpu, &ended);

	for (size_t i = 0; i < gpu->count; i++)
		stale = stale || gpu->processes[i].stale;
	return stale;
}

void ps_json(struct strbuf *buf, const struct ps *ps, const struct ps_view *view,
	     const gpumap_report *report)
{
	const gpumap_inventory *inventory = ps->inventory;
	json_t *gpus = json_array();
	size_t count;
	CLEANUP_FREE int64_t *pids = ps_own_stale(ps, &count);

	for (size_t i = 0; i < ps->count; i++)
		if (shows(ps, &ps->gpus[i], view))
			json_push(&gpus, gpu_json(ps, &ps->gpus[i], view));
	json_dump(buf, JSON_DOCUMENT("ps", {"host", json_text(inventory->host)},
				     {"date", json_text(inventory->date)},
				     {"driver", json_text(inventory->driver)}, {"gpus", gpus},
				     {"leases_known", json_boolean(ps->leases_known)},
				     {"own_stale", JSON_LIST(i, count, json_integer(pids[i]))},
				     {"findings", json_findings(report)}));
}
