/* SPDX-License-Identifier: MIT */
/* Rule R3 for a rank that already has its list. */
#include "exec.h"

#include <stdio.h>
#include <unistd.h>

#include "job/rank_rows.h"
#include "report/report.h"
#include "request/slurm_grant.h"
#include "resolve/mapping.h"
#include "strbuf.h"

struct check {
	struct exec *exec;
	gpumap_request *request;
	gpumap_report *scratch;
	struct arena arena;
	int mode;                             /* of enum plan_mode */
	struct device_use device, set_device; /* without text: not known, never */
};

/* Whether the device of the program is. */
static bool is_known(const struct check *c)
{
	return c->device.text || c->set_device.text;
}

static int state(struct check *c, const char *key, const char *value)
{
	if (!*value)
		return GPUMAP_OK;
	return gpumap_request_set(c->request, key, value, key, c->scratch);
}

static const char *entry(struct check *c, const char *name, const char *value)
{
	return arena_printf(&c->arena, "%s=%s", name, value);
}

static const char *number(struct check *c, const char *name, int64_t n)
{
	return arena_printf(&c->arena, "%s=%lld", name, (long long)n);
}

/* States the rank's variables that name devices and ranks. */
static int state_environment(struct check *c)
{
	const struct job_rank *rank = &c->exec->rank;
	const char *list =
		rank->local->visible ? rank->local->visible : getenv("CUDA_VISIBLE_DEVICES");
	const char *order = rank->device_order ? rank->device_order : getenv("CUDA_DEVICE_ORDER");
	const char *envp[8] = {NULL};
	size_t count = 0;

	if (list)
		envp[count++] = entry(c, "CUDA_VISIBLE_DEVICES", list);
	if (order)
		envp[count++] = entry(c, "CUDA_DEVICE_ORDER", order);
	envp[count++] = number(c, "RANK", rank->rank);
	envp[count++] = number(c, "WORLD_SIZE", rank->world_size);
	envp[count++] = number(c, "LOCAL_RANK", rank->local_rank);
	if (rank->node >= 0)
		envp[count] = number(c, "GROUP_RANK", rank->node);
	return gpumap_request_set_environ(c->request, envp, c->scratch);
}

/* Whether the setting is a statement of the request, by the same name. */
static bool is_stated(const struct check *c, enum profile_key_id id)
{
	switch (id) {
	case PKEY_PROFILE_mode:
		return true;
	case PKEY_PROGRAM_device:
		return c->mode != PLAN_MP && c->device.text;
	case PKEY_PROGRAM_set_device:
		return c->mode != PLAN_MP;
	case PKEY_PROGRAM_device_ids:
		return c->mode != PLAN_SINGLE;
	default:
		return key_picks_device(id);
	}
}

static int state_all(struct check *c)
{
	int r = state_environment(c);

	for (enum profile_key_id i = SETTING_FIRST; i < SETTING_END && r == GPUMAP_OK; i++) {
		const char *name = profile_key(i)->key.name;

		if (is_stated(c, i))
			r = state(c, name, SETTING_OF(&c->exec->plan->settings, i)->text);
	}
	return r;
}

/* --- what comes of it ------------------------------------------------------------------ */

/* A device that was read from the program gives only a warning, because it may have been read
 * wrongly. */
static int clash(struct check *c, enum finding_id id, const char *fix, const char *format, ...)
	PRINTF(4, 5);
static int clash(struct check *c, enum finding_id id, const char *fix, const char *format, ...)
{
	const char *origin = c->exec->plan->settings.device.origin;
	bool read = c->device.text && speech_of_program(origin);
	const struct speech speech = job_speech(c->exec->plan);
	const char *text;
	va_list args;

	va_start(args, format);
	text = arena_vprintf(&c->arena, format, args);
	va_end(args);
	if (read)
		fix = arena_printf(&c->arena,
				   "%s; if it was read wrongly, write " SETTING(
					   "device = unknown") ", or what the program does",
				   fix ? fix : "change what the program does");
	report_add(
		c->exec->report, read ? FINDING_READ_DEVICE : id,
		ABOUT(.rule = "R3", .origin = read ? origin : NULL, .fix = fix, .speech = &speech),
		"%s", text);
	return read ? GPUMAP_OK : GPUMAP_EINPUT;
}

static int refuse(struct check *c, const gpumap_finding *f)
{
	const struct job_rank *rank = &c->exec->rank;
	enum finding_id id = finding_by_id(gpumap_finding_str(f, GPUMAP_FINDING_ID));
	const char *fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX);

	/* The list certainly exists; it does not matter which model a number refers to. */
	if (id == FINDING_UNDECIDABLE)
		return GPUMAP_OK;
	if (id == FINDING_INVALID_ORDINAL)
		fix = "let the program use cuda:0 where each task has a list of its own, or give "
		      "every task all GPUs (srun --gpus-per-node, not --gpus-per-task)";
	return clash(c, id, fix,
		     "rank %lld, local rank %lld (" SETTING("device = %s") ", " SETTING(
			     "set_device = %s") "): %s",
		     (long long)rank->rank, (long long)rank->local_rank,
		     c->device.text ? c->device.text : "unknown",
		     c->set_device.text ? c->set_device.text : "never",
		     gpumap_finding_str(f, GPUMAP_FINDING_TEXT));
}

static int first_refusal(struct check *c)
{
	for (size_t i = 0; i < gpumap_report_count(c->scratch); i++) {
		const gpumap_finding *f = gpumap_report_get(c->scratch, i);

		if (gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY) == GPUMAP_SEVERITY_ERROR)
			return refuse(c, f);
	}
	return GPUMAP_OK;
}

bool exec_own_list(const struct exec *exec)
{
	bool task = false;

	if (exec->row && streq(exec->row, "jsrun"))
		return true;
	/* Under mpirun this is the list of mpirun's daemon, which all of its ranks inherit. */
	for (size_t i = 0; i < exec->row_count; i++)
		task = task || (streq(exec->rows[i].row, "Slurm step") &&
				exec_agrees(exec, &exec->rows[i]));
	return task && rank_tasks_have_lists();
}

bool exec_own_gpus(const struct exec *exec)
{
	return exec_own_list(exec) || (exec->row_count && rank_row_is_own(&exec->rows[0]) &&
				       exec_agrees(exec, &exec->rows[0]));
}

/* Reports ranks with one list that use the same device of it. A list of one device may be each
 * task's own; nothing shows whether it is. */
static int check_others(struct check *c, const gpumap_mapping *mapping)
{
	const struct job_rank *rank = &c->exec->rank;
	bool current = c->device.kind == USE_NOTHING || c->device.kind == USE_CURRENT;
	const struct device_use *use = current ? &c->set_device : &c->device;
	int64_t shared = c->exec->plan->settings.ranks_per_gpu.number;
	bool list = rank->local->visible || getenv("CUDA_VISIBLE_DEVICES");

	if (c->exec->options->plan.file || rank->local->device_count || use->kind != USE_NUMBER ||
	    rank->local_size < 2 || rank->local_size <= shared || exec_own_list(c->exec) ||
	    (list && mapping->visible_count < 2) || c->mode == PLAN_DP || c->mode == PLAN_MP)
		return GPUMAP_OK;
	return clash(c, FINDING_RANKS_COLLIDE,
		     "write " SETTING("share = isolate") ", let the program use its local rank, or "
							 "write " SETTING("ranks_per_gpu = N"),
		     "all %lld ranks of this host take %s of the same GPUs",
		     (long long)rank->local_size, use->text);
}

/* A program whose device is not known may use its local rank. Ranks may have lists of their own, of
 * one device each as a rule. */
static bool may_lack(const struct exec *exec, int mode)
{
	const struct job_rank *rank = &exec->rank;

	return (mode == PLAN_DDP || mode == PLAN_SINGLE) && !exec->options->plan.file &&
	       !rank->local->device_count && !rank->local->visible &&
	       exec_variable("CUDA_VISIBLE_DEVICES") && rank->local_rank > 1 &&
	       rank->local_size > rank->local_rank && !exec_own_gpus(exec);
}

static void warn_beyond(struct check *c, const gpumap_mapping *mapping)
{
	const struct speech speech = job_speech(c->exec->plan);
	const struct job_rank *rank = &c->exec->rank;

	if (mapping->visible_count < 2 || rank->local_rank < (int64_t)mapping->visible_count)
		return;
	report_add(
		c->exec->report, FINDING_EXEC_BEYOND,
		ABOUT(.rule = "R3", .speech = &speech,
		      .fix = "start as many ranks as the list has GPUs; if each rank has a list of "
			     "its own, write " SETTING("device = cuda:0")),
		"local rank %lld of %lld may have no GPU: CUDA_VISIBLE_DEVICES=%s has %zu devices",
		(long long)rank->local_rank, (long long)rank->local_size,
		QUOTE(span_of(exec_variable("CUDA_VISIBLE_DEVICES"))), mapping->visible_count);
}

static int judge(struct check *c, const gpumap_mapping *mapping)
{
	if (!is_known(c)) {
		warn_beyond(c, mapping);
		return GPUMAP_OK;
	}
	return mapping->answered ? check_others(c, mapping) : first_refusal(c);
}

static int resolve(struct check *c, const gpumap_inventory *inventory)
{
	OWNED(mapping) *mapping = NULL;
	int r = gpumap_request_new(&c->request);

	c->scratch = report_begin();
	if (r == GPUMAP_OK)
		r = state_all(c);
	if (r == GPUMAP_OK)
		r = gpumap_resolve(&mapping, c->request, inventory, c->scratch);
	if (r == GPUMAP_OK)
		r = judge(c, mapping);
	else if (is_known(c))
		first_refusal(c);
	return r;
}

int exec_check_use(struct exec *exec, const gpumap_inventory *inventory)
{
	struct check c = {
		.exec = exec,
		.mode = exec->plan->settings.mode.word,
		.device = exec->plan->settings.device.use,
		.set_device = exec->plan->settings.set_device.use,
	};
	int r = GPUMAP_OK;

	if (c.device.kind == USE_CPU || (!is_known(&c) && !may_lack(exec, c.mode)))
		return GPUMAP_OK;
	r = resolve(&c, inventory);
	gpumap_request_free(c.request);
	gpumap_report_free(c.scratch);
	arena_free(&c.arena);
	return r;
}

void exec_check_grant(struct exec *exec)
{
	const struct slurm_grant grant = slurm_grant_of((const char *const *)environ);
	const char *list =
		exec->local.visible ? exec->local.visible : getenv("CUDA_VISIBLE_DEVICES");

	if (list)
		slurm_grant_check(&grant, "CUDA_VISIBLE_DEVICES", list, NULL, exec->report);
}
