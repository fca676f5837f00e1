/* SPDX-License-Identifier: MIT */
/* The variables and arguments with which a rank starts. */
#include "plan/job.h"

#include <stdio.h>

#include "profile/profile.h"
#include "rankenv.h"
#include "strbuf.h"

typedef int visit(const char *name, const char *value, void *data);

/* Calls fn for each variable, until it fails. */
struct environ_walk {
	const gpumap_plan *plan;
	const struct job_rank *at;
	const char *const *envp;
	visit *fn;
	void *data;
	int r;
};

static void set(struct environ_walk *w, const char *name, const char *value)
{
	if (w->r == GPUMAP_OK)
		w->r = w->fn(name, value, w->data);
}

static bool is_set(const char *const *envp, const char *name)
{
	size_t length = strlen(name);

	for (; envp && *envp; envp++)
		if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=')
			return true;
	return false;
}

/* If the number is not known, the variable must not be inherited. */
static void set_number(struct environ_walk *w, const char *name, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)n);
	if (n >= 0)
		set(w, name, text);
	else if (is_set(w->envp, name))
		set(w, name, NULL);
}

bool job_sets_ranks(const gpumap_plan *plan, int64_t world_size)
{
	return world_size > 1 || job_value(plan, PKEY_PROFILE_mode, -1).word == PLAN_DDP;
}

static const char *const own[] = {
	"RANK",      "WORLD_SIZE", "LOCAL_RANK",      "LOCAL_WORLD_SIZE", "GROUP_RANK",
	"NODE_RANK", "ROLE_RANK",  "ROLE_WORLD_SIZE", "GROUP_WORLD_SIZE"};

static bool is_own(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (streq(own[i], name))
			return true;
	return false;
}

static bool is_set_by_launch(const struct environ_walk *w, const char *name)
{
	if (!job_sets_ranks(w->plan, w->at->world_size) || streq(name, "TORCHELASTIC_ERROR_FILE"))
		return false;
	if (streq(name, "MASTER_PORT"))
		return w->plan->master_port;
	return !streq(name, "TORCHELASTIC_RUN_ID") || w->plan->run;
}

/* Another launcher's variables would contradict the rank's own (rule R1). */
static void unset_foreign(struct environ_walk *w)
{
	bool sets = job_sets_ranks(w->plan, w->at->world_size);
	const char *name;

	for (size_t i = 0; (name = rankenv_variable(i)); i++)
		if (is_set(w->envp, name) && !(sets && is_own(name)))
			set(w, name, NULL);
}

/* Launchers set these besides the rank. Unless this launch sets them, they are of another job. */
static void unset_rendezvous(struct environ_walk *w)
{
	static const char *const names[] = {"MASTER_ADDR",
					    "MASTER_PORT",
					    "ROLE_NAME",
					    "TORCHELASTIC_ERROR_FILE",
					    "TORCHELASTIC_MAX_RESTARTS",
					    "TORCHELASTIC_RESTART_COUNT",
					    "TORCHELASTIC_RUN_ID",
					    "TORCHELASTIC_USE_AGENT_STORE"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (is_set(w->envp, names[i]) && !is_set_by_launch(w, names[i]))
			set(w, names[i], NULL);
}

static void set_ranks(struct environ_walk *w)
{
	const struct job_rank *at = w->at;
	const int64_t values[ARRAY_SIZE(own)] = {at->rank,       at->world_size, at->local_rank,
						 at->local_size, at->node,       at->node,
						 at->rank,       at->world_size, at->nodes};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		set_number(w, own[i], values[i]);
	set(w, "ROLE_NAME", "default");
	set(w, "MASTER_ADDR", w->plan->master_addr);
	if (w->plan->master_port)
		set_number(w, "MASTER_PORT", w->plan->master_port);
	/* Only rank 0 listens there. With "True" it would connect and wait. */
	set(w, "TORCHELASTIC_USE_AGENT_STORE", "False");
	set_number(w, "TORCHELASTIC_MAX_RESTARTS", job_restarts(w->plan));
	set_number(w, "TORCHELASTIC_RESTART_COUNT", 0);
	if (w->plan->run)
		set(w, "TORCHELASTIC_RUN_ID", w->plan->run);
}

static void set_devices(struct environ_walk *w)
{
	const struct plan_slot *slot = w->at->slot;
	bool automatic =
		job_value(w->plan, PKEY_PROFILE_threads, w->at->row).word == PLAN_THREADS_AUTO;

	if (slot->visible)
		set(w, "CUDA_VISIBLE_DEVICES", slot->visible);
	if (w->at->device_order)
		set(w, "CUDA_DEVICE_ORDER", w->at->device_order);
	if (slot->threads > 0 && !(automatic && is_set(w->envp, "OMP_NUM_THREADS")))
		set_number(w, "OMP_NUM_THREADS", slot->threads);
}

/* Appends a list of these devices as gpumap writes them. False: one has no name. */
static bool put_devices(struct strbuf *buf, const struct plan_device *devices, size_t count,
			bool numbers)
{
	for (size_t i = 0; i < count; i++) {
		const struct plan_device *d = &devices[i];

		strbuf_puts(buf, i ? "," : "");
		if (d->uuid && !numbers)
			strbuf_puts(buf, d->uuid);
		else if (d->physical >= 0 && d->mig < 0)
			strbuf_printf(buf, "%d", d->physical);
		else
			return false;
	}
	return true;
}

/* The GPU where its program lands. If that is not known, the GPUs of its plan, and for a rank alone
 * on its host all that it sees. */
static bool put_own(struct strbuf *buf, const struct job_rank *at)
{
	const struct plan_slot *slot = at->slot;
	bool numbers = slot->visible && is_digit(*slot->visible);

	if (slot->device_count == 1 && slot->lands)
		return put_devices(buf, slot->lands, 1, numbers);
	if (!slot->visible || (slot->device_count && at->local_size != 1))
		return put_devices(buf, slot->devices, slot->device_count, numbers);
	strbuf_puts(buf, slot->visible);
	return true;
}

/* If the list was not examined, the inherited variables stay valid. */
static void set_run(struct environ_walk *w)
{
	const struct plan_slot *slot = w->at->slot;
	struct strbuf gpus = {0};

	if (!slot->visible && !slot->device_count)
		return;
	if (!put_own(&gpus, w->at)) {
		if (is_set(w->envp, RUN_GPUS))
			set(w, RUN_GPUS, NULL);
	} else if (gpus.failed) {
		w->r = w->r == GPUMAP_OK ? GPUMAP_ENOMEM : w->r;
	} else {
		set(w, RUN_GPUS, gpus.text ? gpus.text : "");
		set_number(w, RUN_RANK, w->at->rank);
		if (w->plan->run || is_set(w->envp, RUN_ID))
			set(w, RUN_ID, w->plan->run);
	}
	strbuf_free(&gpus);
}

static struct macros macros_of(const gpumap_plan *plan, const struct job_rank *at,
			       const char *stream)
{
	return (struct macros){at->rank, at->local_rank, at->node, at->host, plan->run, stream};
}

static void set_profile(struct environ_walk *w, gpumap_report *report)
{
	const struct macros macros = macros_of(w->plan, w->at, NULL);

	for (size_t i = 0; i < w->plan->variable_count && w->r == GPUMAP_OK; i++) {
		const struct job_variable *v = &w->plan->variables[i];
		char *value = NULL;

		if (v->value)
			w->r = profile_expand(&value, v->value, &macros, ABOUT(.origin = v->origin),
					      report);
		set(w, v->name, value);
		free(value);
	}
}

static int set_all(struct environ_walk *w)
{
	if (job_sets_ranks(w->plan, w->at->world_size))
		set_ranks(w);
	set_devices(w);
	set_run(w);
	set_profile(w, NULL);
	return w->r;
}

int job_environ(const gpumap_plan *plan, const struct job_rank *rank, const char *const *envp,
		visit *fn, void *data)
{
	struct environ_walk w = {plan, rank, envp, fn, data, GPUMAP_OK};

	return set_all(&w);
}

bool job_rank_at(const gpumap_plan *plan, int64_t rank, struct job_rank *ret)
{
	struct plan_rank at;

	if (rank < 0 || !plan_rank(plan, (size_t)rank, &at))
		return false;
	*ret = (struct job_rank){
		.rank = rank,
		.world_size = (int64_t)plan->world_size,
		.local_rank = (int64_t)at.local_rank,
		.local_size = (int64_t)at.local_size,
		.node = (int64_t)at.node,
		.nodes = (int64_t)plan->host_count,
		.row = rank,
		.host = at.host->name,
		.slot = at.slot,
		.device_order = at.host->layout->device_order,
	};
	return true;
}

EXPORT int gpumap_plan_variable_each(const gpumap_plan *plan, int64_t rank, const char *const *envp,
				     visit *fn, void *data)
{
	struct job_rank at;
	struct environ_walk w = {plan, &at, envp, fn, data, GPUMAP_OK};

	if (!job_rank_at(plan, rank, &at))
		return GPUMAP_EINPUT;
	unset_foreign(&w);
	unset_rendezvous(&w);
	return set_all(&w);
}

/* --- values of a rank --------------------------------------------------------------- */

int job_expand(char **ret, const gpumap_plan *plan, const char *key, const struct job_rank *rank,
	       const char *stream, gpumap_report *report)
{
	const char *value = gpumap_plan_setting(plan, key, rank->row);
	const struct macros macros = macros_of(plan, rank, stream);

	if (!value)
		return report_fail(report, GPUMAP_EKEY, FINDING_UNKNOWN_KEY, NULL,
				   "no such key: '%s'", QUOTE(span_of(key)));
	return profile_expand(ret, value, &macros, ABOUT(.origin = key), report);
}

EXPORT int gpumap_plan_expand_setting(char **ret, const gpumap_plan *plan, const char *key,
				      int64_t rank, const char *stream, gpumap_report *report)
{
	struct job_rank at = {.rank = -1, .local_rank = -1, .node = -1, .row = rank, .host = NULL};

	job_rank_at(plan, rank, &at);
	return job_expand(ret, plan, key, &at, stream, report);
}

/* --- arguments ------------------------------------------------------------------------ */

static void free_arguments(char **arguments)
{
	for (size_t i = 0; arguments && arguments[i]; i++)
		free(arguments[i]);
	free(arguments);
}

/* The argument that old scripts expect: --local_rank=N, or another name. */
static char *local_rank_argument(const struct key_value *pass, int64_t local_rank)
{
	struct strbuf buf = {0};

	if (pass->word == PLAN_PASS_OPTION)
		strbuf_add(&buf, pass->text.text, pass->text.length);
	else
		strbuf_puts(&buf, "--local_rank");
	strbuf_printf(&buf, "=%lld", (long long)local_rank);
	return strbuf_take(&buf);
}

int job_arguments(char ***ret, const gpumap_plan *plan, const struct job_rank *rank,
		  gpumap_report *report)
{
	struct key_value pass = job_value(plan, PKEY_PROFILE_pass_local_rank, rank->row);
	const struct macros macros = macros_of(plan, rank, NULL);
	char **arguments;
	int r = GPUMAP_OK;

	arguments = calloc(plan->argument_count + 2, sizeof(*arguments));
	if (!arguments)
		return report_nomem(report);
	for (size_t i = 0; i < plan->argument_count && r == GPUMAP_OK; i++)
		r = profile_expand(&arguments[i], plan->arguments[i], &macros,
				   ABOUT(.origin = "command"), report);
	if (r == GPUMAP_OK && plan->argument_count && pass.word != PLAN_PASS_NO) {
		arguments[plan->argument_count] = local_rank_argument(&pass, rank->local_rank);
		if (!arguments[plan->argument_count])
			r = report_nomem(report);
	}
	if (r != GPUMAP_OK) {
		free_arguments(arguments);
		return r;
	}
	*ret = arguments;
	return GPUMAP_OK;
}

EXPORT int gpumap_plan_rank_arguments(char ***ret, const gpumap_plan *plan, int64_t rank,
				      gpumap_report *report)
{
	struct job_rank at;

	return job_rank_at(plan, rank, &at) ? job_arguments(ret, plan, &at, report) : GPUMAP_EINPUT;
}
