/* SPDX-License-Identifier: MIT */
/* Gathers the facts of gpumap verify: the plan from what the run shows of itself, the rest from
 * NVML and /proc. */
#include "live/verify.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "inventory/inventory.h"
#include "live/process.h"
#include "memory.h"
#include "plan/hosts.h"
#include "plan/job.h"
#include "process_stat.h"
#include "report/report.h"
#include "resolve/mapping.h"
#include "text.h"

enum { NS_PER_S = 1000000000 };

const char *const verify_variables[] = {
	[VERIFY_VISIBLE] = "CUDA_VISIBLE_DEVICES", [VERIFY_ORDER] = "CUDA_DEVICE_ORDER"};

/* --- its own GPUs --------------------------------------------------------------------- */

static void add_own(struct verify_rank *rank, const gpumap_device *device)
{
	*ARRAY_NEXT(rank->own, rank->own_count, rank->own_room) =
		(struct verify_device){device->gpu->physical, device->mig_position};
}

/* The device of an entry of GPUMAP_RUN_GPUS; NULL: this machine does not have it. */
static const gpumap_device *find_entry(const gpumap_inventory *inventory, struct span entry)
{
	for (size_t i = 0; inventory && i < inventory->count; i++) {
		const gpumap_device *gpu = &inventory->gpus[i];

		if (run_entry_is(entry, gpu->uuid, gpu->physical, false))
			return gpu;
		for (size_t m = 0; m < gpu->mig_count; m++)
			if (run_entry_is(entry, gpu->mig[m].uuid, gpu->physical, true))
				return &gpu->mig[m];
	}
	return NULL;
}

static void own_by_entries(struct verify_rank *rank, const gpumap_inventory *inventory,
			   const char *list)
{
	struct span rest = span_of(list), entry;

	while (*list && span_split(&rest, ',', &entry)) {
		const gpumap_device *device = find_entry(inventory, entry);

		if (device)
			add_own(rank, device);
		else
			rank->own_unknown = "NVML does not show a GPU of its plan here";
	}
}

/* Where the list is undecidable, each GPU that it may mean. */
static void own_by_list(struct verify_rank *rank, const gpumap_mapping *mapping)
{
	for (size_t i = 0; i < gpumap_mapping_visible_count(mapping); i++) {
		const gpumap_entry *e = gpumap_mapping_visible(mapping, i);

		for (size_t k = 0; k < gpumap_entry_candidate_count(e); k++)
			add_own(rank, gpumap_entry_candidate(e, k));
	}
}

/* --- the list ------------------------------------------------------------------------- */

/* The mapping of a list alone; NULL: it is malformed. */
static gpumap_mapping *resolve_list(const char *const values[VERIFY_VARIABLES],
				    const gpumap_inventory *inventory)
{
	gpumap_mapping *ret = NULL;
	CLEANUP(arena_free) struct arena arena = {0};
	const char *envp[VERIFY_VARIABLES + 1] = {NULL};
	OWNED(request) *request = NULL;
	int r = gpumap_request_new(&request), n = 0;

	for (int i = 0; i < VERIFY_VARIABLES; i++)
		if (values[i])
			envp[n++] = arena_printf(&arena, "%s=%s", verify_variables[i], values[i]);
	if (r == GPUMAP_OK)
		r = gpumap_request_set_environ(request, envp, NULL);
	if (r == GPUMAP_OK)
		gpumap_resolve(&ret, request, inventory, NULL);
	return ret;
}

static bool same_device(const gpumap_entry *a, const gpumap_entry *b)
{
	const gpumap_device *x, *y;

	if (gpumap_entry_candidate_count(a) != 1 || gpumap_entry_candidate_count(b) != 1)
		return false;
	x = gpumap_entry_candidate(a, 0);
	y = gpumap_entry_candidate(b, 0);
	if (x->physical >= 0 && y->physical >= 0)
		return x->physical == y->physical && x->mig_position == y->mig_position;
	return x->uuid && y->uuid && streq(x->uuid, y->uuid);
}

/* Whether both name the same devices, in the same order. */
static bool same_devices(const gpumap_mapping *a, const gpumap_mapping *b)
{
	size_t count = a ? gpumap_mapping_visible_count(a) : 0;

	if (!a || !b || gpumap_mapping_visible_count(b) != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!same_device(gpumap_mapping_visible(a, i), gpumap_mapping_visible(b, i)))
			return false;
	return true;
}

/* Compares the list of the process with that of the plan. A list that is written in another way and
 * means the same is the same. */
static void compare_lists(struct verify_rank *rank, const struct live_rank *live,
			  const struct process_text *text, const gpumap_inventory *inventory)
{
	const char *planned[] = {[VERIFY_VISIBLE] = live->visible, [VERIFY_ORDER] = live->order};
	const char *now[VERIFY_VARIABLES];
	OWNED(mapping) *a = NULL, *b = NULL;
	bool same = true;

	for (int i = 0; i < VERIFY_VARIABLES; i++) {
		now[i] = process_variable(text, verify_variables[i]);
		rank->variables[i].now = escaped_copy(now[i]);
		same = same && text_same(planned[i], now[i]);
	}
	if (same)
		return;
	a = resolve_list(planned, inventory);
	b = resolve_list(now, inventory);
	if (!same_devices(a, b))
		rank->list = VERIFY_LIST_CHANGED;
}

/* Whether it is the environment that the launcher gave the rank of its run. */
static bool is_of_rank(const struct process_text *text, const char *run, int64_t rank)
{
	const char *id = process_variable(text, RUN_ID), *number = process_variable(text, RUN_RANK);

	return id && number && streq(id, run) && span_number(span_of(number), INT64_MAX) == rank;
}

static void read_list(struct verify_rank *rank, const char *run, const struct live_rank *live,
		      const gpumap_inventory *inventory)
{
	CLEANUP(process_text_free) struct process_text text = {0};
	bool guard;

	if (rank->process != VERIFY_ALIVE)
		return;
	/* exec() changes file and environment together, so the file is looked at first. */
	guard = process_is_gpumap((int)rank->pid);
	if (!process_text_read(&text, (int)rank->pid)) {
		if (errno == ENOENT || errno == ESRCH)
			rank->process = VERIFY_GONE;
		else
			rank->list = VERIFY_LIST_UNSEEN;
		return;
	}
	/* The launcher shows a rank just before it becomes its program. */
	if (guard && !is_of_rank(&text, run, rank->rank))
		rank->process = VERIFY_STARTING;
	else
		compare_lists(rank, live, &text, inventory);
}

/* --- a rank --------------------------------------------------------------------------- */

/* Another process may have its number by now: that started after the launcher saw the rank. */
static enum verify_process look_at(int pid, int64_t seen_ns)
{
	struct process_stat stat;
	int64_t ticks = sysconf(_SC_CLK_TCK);

	if (!process_stat_read(&stat, pid))
		return process_exists(pid) ? VERIFY_UNSEEN : VERIFY_GONE;
	if (stat.dead || (ticks > 0 && (int64_t)stat.start > seen_ns / (NS_PER_S / ticks)))
		return VERIFY_GONE;
	return VERIFY_ALIVE;
}

static void read_rank(struct verify_rank *rank, const struct live_run *run,
		      const struct live_rank *live, const gpumap_inventory *inventory)
{
	const char *planned[] = {[VERIFY_VISIBLE] = live->visible, [VERIFY_ORDER] = live->order};
	OWNED(mapping) *mapping = NULL;

	*rank = (struct verify_rank){.rank = live->rank,
				     .pid = live->pid,
				     .status = live->status,
				     .signal = live->signal,
				     .stopped = live->stopped};
	for (int i = 0; i < VERIFY_VARIABLES; i++)
		rank->variables[i].planned = escaped_copy(planned[i]);
	rank->process = live->state == LIVE_STARTING ? VERIFY_STARTING
			: live->state == LIVE_ENDED  ? VERIFY_ENDED
			: live->hidden               ? VERIFY_UNSEEN
						     : look_at(live->pid, live->at_ns);
	if (run->inside && !list_names_uuids(live->gpus ? live->gpus : live->visible))
		rank->own_unknown = "it numbers its GPUs inside of its container";
	else if (live->gpus)
		own_by_entries(rank, inventory, live->gpus);
	else
		mapping = resolve_list(planned, inventory);
	if (mapping)
		own_by_list(rank, mapping);
	else if (!live->gpus && !rank->own_unknown)
		rank->own_unknown = "its list gives no answer";
	read_list(rank, run->run, live, inventory);
}

/* --- the memory ----------------------------------------------------------------------- */

static struct verify_rank *rank_of_pid(struct verify *v, int pid)
{
	for (size_t i = 0; i < v->count; i++)
		if (v->ranks[i].pid == pid && v->ranks[i].process == VERIFY_ALIVE)
			return &v->ranks[i];
	return NULL;
}

/* The rank that the process is, or descends from; NULL: none. The guard takes the orphans of all
 * ranks: their environment has the rank. */
static struct verify_rank *rank_above(struct verify *v, const struct ps_facts *facts, int launcher)
{
	int pid = (int)facts->pid;

	for (int i = 0; i < MAX_ABOVE && pid > 1 && pid != launcher; i++) {
		struct verify_rank *rank = rank_of_pid(v, pid);

		if (rank)
			return rank;
		pid = process_parent(pid);
	}
	if (!launcher || pid != launcher || !facts->run || !streq(facts->run, v->run))
		return NULL;
	for (size_t i = 0; i < v->count; i++)
		if (v->ranks[i].rank == facts->rank)
			return &v->ranks[i];
	return NULL;
}

static void add_use(struct verify_rank *rank, const struct ps_gpu *gpu,
		    const gpumap_process *process)
{
	*ARRAY_NEXT(rank->uses, rank->use_count, rank->use_room) = (struct verify_use){
		{gpu->device->physical, (int)gpumap_process_int(process, GPUMAP_PROCESS_MIG)},
		gpumap_process_int(process, GPUMAP_PROCESS_PID),
		gpumap_process_int(process, GPUMAP_PROCESS_MEMORY),
	};
}

static void read_gpu(struct verify *v, const struct ps_gpu *gpu, int launcher)
{
	struct verify_gpu *to = &v->gpus[v->gpu_count++];

	*to = (struct verify_gpu){
		.physical = gpu->device->physical,
		.listed = gpumap_device_int(gpu->device, GPUMAP_DEVICE_PROCESSES_COMPLETE) == 1,
		.hidden = gpu->hidden > 0,
		.unmeasured = gpumap_device_int(gpu->device, GPUMAP_DEVICE_MEMORY_HIDDEN) < 0,
	};
	for (size_t i = 0; i < gpu->count; i++) {
		const struct ps_process *p = &gpu->processes[i];
		struct verify_rank *rank;

		if (p->name == PS_NAME_HIDDEN) {
			to->hidden = true;
			continue;
		}
		rank = rank_above(v, ps_facts_of(&v->ps, p), launcher);
		if (rank)
			add_use(rank, gpu, p->process);
	}
}

static void read_memory(struct verify *v, int launcher)
{
	v->gpus = xcalloc(v->ps.count, sizeof(*v->gpus));
	for (size_t i = 0; i < v->ps.count; i++)
		read_gpu(v, &v->ps.gpus[i], launcher);
}

/* --- a run, or a process ---------------------------------------------------------------- */

/* The usage is NULL if NVML does not answer: processes and lists can be seen without. */
static void begin(struct verify *v, size_t count, const struct ps *ps)
{
	*v = (struct verify){.no_usage = !ps, .ranks = xcalloc(count, sizeof(*v->ranks))};
	if (ps)
		v->ps = *ps;
}

void verify_make(struct verify *ret, const struct live_run *live, const struct ps *ps)
{
	begin(ret, live->count, ps);
	ret->run = escaped_copy(live->run);
	for (size_t i = 0; i < live->count; i++)
		read_rank(&ret->ranks[ret->count++], live, &live->ranks[i], ret->ps.inventory);
	read_memory(ret, live->launcher);
}

int verify_run(struct verify *ret, const struct live_run *live, bool json, gpumap_report *report)
{
	struct ps ps = {0};
	int r = ps_read(&ps, json, report);

	if (r != GPUMAP_OK && r != GPUMAP_ENODRIVER)
		return r;
	verify_make(ret, live, r == GPUMAP_OK ? &ps : NULL);
	return GPUMAP_OK;
}

/* A rank of gpumap exec has its own GPUs in its environment; another process those of its list. */
static void read_alone(struct verify_rank *rank, const struct ps_facts *facts,
		       const gpumap_inventory *inventory)
{
	CLEANUP(process_text_free) struct process_text text = {0};
	const char *gpus;

	if (facts->name == PS_NAME_CONTAINER)
		rank->own_unknown = "it numbers its GPUs inside of its container";
	else if (facts->name != PS_NAME_KNOWN)
		rank->own_unknown = "its environment gives no list of GPUs";
	if (rank->own_unknown)
		return;
	if (!process_text_read(&text, (int)rank->pid)) {
		rank->own_unknown = "its environment is not readable any more";
		return;
	}
	gpus = facts->run ? process_variable(&text, RUN_GPUS) : NULL;
	if (gpus)
		own_by_entries(rank, inventory, gpus);
	else
		own_by_list(rank, facts->mapping);
}

static void make_alone(struct verify *ret, int64_t pid, const struct ps *ps)
{
	struct ps_facts facts = {.pid = pid, .rank = -1};

	begin(ret, 1, ps);
	ps_read_environment(&facts, ret->ps.inventory);
	ret->count = 1;
	ret->ranks[0] =
		(struct verify_rank){.rank = facts.rank, .pid = pid, .process = VERIFY_ALIVE};
	read_alone(&ret->ranks[0], &facts, ret->ps.inventory);
	read_memory(ret, 0);
	ps_facts_free(&facts);
}

int verify_alone(struct verify *ret, const char *pid, bool json, gpumap_report *report)
{
	struct ps ps = {0};
	int r = process_check(pid, report);

	if (r == GPUMAP_OK)
		r = ps_read(&ps, json, report);
	if (r != GPUMAP_OK && r != GPUMAP_ENODRIVER)
		return r;
	make_alone(ret, span_number(span_of(pid), INT32_MAX), r == GPUMAP_OK ? &ps : NULL);
	return GPUMAP_OK;
}

static void free_rank(struct verify_rank *rank)
{
	for (int i = 0; i < VERIFY_VARIABLES; i++) {
		free(rank->variables[i].planned);
		free(rank->variables[i].now);
	}
	free(rank->own);
	free(rank->uses);
}

void verify_free(struct verify *v)
{
	for (size_t i = 0; i < v->count; i++)
		free_rank(&v->ranks[i]);
	free(v->ranks);
	free(v->gpus);
	free(v->run);
	ps_free(&v->ps);
	*v = (struct verify){0};
}
