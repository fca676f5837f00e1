/* SPDX-License-Identifier: MIT */
/* The variables with which a rank starts. */
#include "plan/job.h"

#include <stdio.h>

#include "profile/profile.h"
#include "request/rank_identity.h"
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

/* If the number is not known, the variable must not be inherited. */
static void set_number(struct environ_walk *w, const char *name, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)n);
	if (n >= 0)
		set(w, name, text);
	else if (environ_find(w->envp, name))
		set(w, name, NULL);
}

bool job_sets_ranks(const gpumap_plan *plan, int64_t world_size)
{
	return world_size > 1 || plan->settings.mode.word == PLAN_DDP;
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

	for (size_t i = 0; (name = rank_identity_variable(i)); i++)
		if (environ_find(w->envp, name) && !(sets && is_own(name)))
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
		if (environ_find(w->envp, names[i]) && !is_set_by_launch(w, names[i]))
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
	const struct local_rank *local = w->at->local;
	bool automatic =
		job_setting(w->plan, PKEY_PROFILE_threads, w->at->row)->word == PLAN_THREADS_AUTO;

	if (local->visible)
		set(w, "CUDA_VISIBLE_DEVICES", local->visible);
	if (w->at->device_order)
		set(w, "CUDA_DEVICE_ORDER", w->at->device_order);
	if (local->threads > 0 && !(automatic && environ_find(w->envp, "OMP_NUM_THREADS")))
		set_number(w, "OMP_NUM_THREADS", local->threads);
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
	const struct local_rank *local = at->local;
	bool numbers = local->visible && is_digit(*local->visible);

	if (local->device_count == 1 && local->lands)
		return put_devices(buf, local->lands, 1, numbers);
	if (!local->visible || (local->device_count && at->local_size != 1))
		return put_devices(buf, local->devices, local->device_count, numbers);
	strbuf_puts(buf, local->visible);
	return true;
}

/* If the list was not examined, the inherited variables stay valid. */
static void set_run(struct environ_walk *w)
{
	const struct local_rank *local = w->at->local;
	CLEANUP(strbuf_free) struct strbuf gpus = {0};

	if (!local->visible && !local->device_count)
		return;
	if (!put_own(&gpus, w->at)) {
		if (environ_find(w->envp, RUN_GPUS))
			set(w, RUN_GPUS, NULL);
	} else if (gpus.failed) {
		w->r = w->r == GPUMAP_OK ? GPUMAP_ENOMEM : w->r;
	} else {
		set(w, RUN_GPUS, gpus.text ? gpus.text : "");
		set_number(w, RUN_RANK, w->at->rank);
		if (w->plan->run || environ_find(w->envp, RUN_ID))
			set(w, RUN_ID, w->plan->run);
	}
}

static void set_profile(struct environ_walk *w, gpumap_report *report)
{
	const struct macros macros = job_macros(w->plan, w->at, NULL);

	for (size_t i = 0; i < w->plan->variable_count && w->r == GPUMAP_OK; i++) {
		const struct job_variable *v = &w->plan->variables[i];
		CLEANUP_FREE char *value = NULL;

		if (v->value)
			w->r = profile_expand(&value, v->value, &macros, ABOUT(.origin = v->origin),
					      report);
		set(w, v->name, value);
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
