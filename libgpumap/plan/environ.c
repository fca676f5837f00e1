/* SPDX-License-Identifier: MIT */
/* What a rank is started with: its variables and its arguments. */
#include "plan/job.h"

#include <stdio.h>

#include "profile/profile.h"
#include "rankenv.h"

typedef int tell(const char *name, const char *value, void *data);

/* One variable after the other, until fn has enough. */
struct teller {
	const gpumap_plan *plan;
	struct plan_rank at;
	tell *fn;
	void *data;
	int r;
};

static void say(struct teller *t, const char *name, const char *value)
{
	if (t->r == GPUMAP_OK)
		t->r = t->fn(name, value, t->data);
}

static void say_number(struct teller *t, const char *name, size_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%zu", n);
	say(t, name, text);
}

static bool is_set(const char *const *envp, const char *name)
{
	size_t length = strlen(name);

	for (; envp && *envp; envp++)
		if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=')
			return true;
	return false;
}

bool plan_has_ranks(const gpumap_plan *plan)
{
	return plan->core->world_size > 1 || streq(job_setting(plan, "mode"), "ddp");
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

static bool is_told(const gpumap_plan *plan, const char *name)
{
	if (!plan_has_ranks(plan) || streq(name, "TORCHELASTIC_ERROR_FILE"))
		return false;
	if (streq(name, "MASTER_PORT"))
		return plan->master_port;
	return !streq(name, "TORCHELASTIC_RUN_ID") || plan->run;
}

/* Another launcher's would tell the rank a second story (rule R1). */
static void unset_foreign(struct teller *t, const char *const *envp)
{
	const char *name;

	for (size_t i = 0; (name = rankenv_variable(i)); i++)
		if (is_set(envp, name) && !(plan_has_ranks(t->plan) && is_own(name)))
			say(t, name, NULL);
}

/* What a launcher tells beside ranks; where nothing is told, none of it holds. */
static void unset_meeting(struct teller *t, const char *const *envp)
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
		if (is_set(envp, names[i]) && !is_told(t->plan, names[i]))
			say(t, names[i], NULL);
}

static void say_ranks(struct teller *t)
{
	const struct plan_rank *at = &t->at;
	const struct plan *core = t->plan->core;
	const size_t values[ARRAY_SIZE(own)] = {at->rank,       core->world_size, at->local_rank,
						at->local_size, at->node,         at->node,
						at->rank,       core->world_size, core->host_count};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		say_number(t, own[i], values[i]);
	say(t, "ROLE_NAME", "default");
	say(t, "MASTER_ADDR", t->plan->master_addr);
	if (t->plan->master_port)
		say_number(t, "MASTER_PORT", (size_t)t->plan->master_port);
	/* Nothing listens there but rank 0: with "True" it would connect and wait. */
	say(t, "TORCHELASTIC_USE_AGENT_STORE", "False");
	say_number(t, "TORCHELASTIC_MAX_RESTARTS", (size_t)t->plan->restarts);
	say_number(t, "TORCHELASTIC_RESTART_COUNT", 0);
	if (t->plan->run)
		say(t, "TORCHELASTIC_RUN_ID", t->plan->run);
}

static void say_devices(struct teller *t, const char *const *envp)
{
	const struct plan_slot *slot = t->at.slot;
	bool automatic = streq(job_setting(t->plan, "threads"), "auto");

	say(t, "CUDA_VISIBLE_DEVICES", slot->visible);
	if (t->at.host->layout->device_order)
		say(t, "CUDA_DEVICE_ORDER", t->at.host->layout->device_order);
	if (slot->threads > 0 && !(automatic && is_set(envp, "OMP_NUM_THREADS")))
		say_number(t, "OMP_NUM_THREADS", (size_t)slot->threads);
}

static struct macros macros_of(const gpumap_plan *plan, const struct plan_rank *at,
			       const char *stream)
{
	return (struct macros){(int64_t)at->rank, (int64_t)at->local_rank,
			       (int64_t)at->node, at->host->name,
			       plan->run,         stream};
}

static void say_profile(struct teller *t, gpumap_report *report)
{
	const struct macros macros = macros_of(t->plan, &t->at, NULL);

	for (size_t i = 0; i < t->plan->variable_count && t->r == GPUMAP_OK; i++) {
		const struct job_variable *v = &t->plan->variables[i];
		char *value = NULL;

		if (v->value)
			t->r = profile_expand(&value, v->value, &macros, ABOUT(.origin = v->origin),
					      report);
		say(t, v->name, value);
		free(value);
	}
}

EXPORT int gpumap_plan_environ(const gpumap_plan *plan, int64_t rank, const char *const *envp,
			       tell *fn, void *data)
{
	struct teller t = {.plan = plan, .fn = fn, .data = data};

	if (rank < 0 || !plan_rank(plan->core, (size_t)rank, &t.at))
		return GPUMAP_EINPUT;
	unset_foreign(&t, envp);
	unset_meeting(&t, envp);
	if (plan_has_ranks(plan))
		say_ranks(&t);
	say_devices(&t, envp);
	say_profile(&t, NULL);
	return t.r;
}

/* --- values of a rank --------------------------------------------------------------- */

static const struct job_exception *exception_of(const gpumap_plan *plan, size_t rank,
						size_t setting)
{
	size_t low = 0, high = plan->exception_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (plan->exceptions[middle].rank < rank)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < plan->exception_count && plan->exceptions[low].rank == rank; low++)
		if (plan->exceptions[low].setting == setting)
			return &plan->exceptions[low];
	return NULL;
}

EXPORT const char *gpumap_plan_setting(const gpumap_plan *plan, const char *key, int64_t rank)
{
	const struct job_exception *exception;

	for (size_t i = 0; plan && i < plan->setting_count; i++) {
		if (!streq(plan->settings[i].key, key))
			continue;
		exception = rank < 0 ? NULL : exception_of(plan, (size_t)rank, i);
		return exception ? exception->value : plan->settings[i].value;
	}
	return NULL;
}

EXPORT int gpumap_plan_expand(char **ret, const gpumap_plan *plan, const char *key, int64_t rank,
			      const char *stream, gpumap_report *report)
{
	const char *value = gpumap_plan_setting(plan, key, rank);
	struct macros macros = {-1, -1, -1, NULL, plan->run, stream};
	struct plan_rank at;

	if (!value)
		return report_fail(report, GPUMAP_EKEY, FINDING_UNKNOWN_KEY, NULL,
				   "no such key: '%s'", QUOTE(span_of(key)));
	if (rank >= 0 && plan_rank(plan->core, (size_t)rank, &at))
		macros = macros_of(plan, &at, stream);
	return profile_expand(ret, value, &macros, ABOUT(.origin = key), report);
}

/* --- arguments ------------------------------------------------------------------------ */

static void free_arguments(char **arguments)
{
	for (size_t i = 0; arguments && arguments[i]; i++)
		free(arguments[i]);
	free(arguments);
}

/* What old scripts expect: --local_rank=N, or another option's name. */
static char *local_rank_argument(const char *how, size_t local_rank)
{
	struct strbuf buf = {0};

	strbuf_printf(&buf, "%s=%zu", streq(how, "yes") ? "--local_rank" : how, local_rank);
	return strbuf_take(&buf);
}

EXPORT int gpumap_plan_arguments(char ***ret, const gpumap_plan *plan, int64_t rank,
				 gpumap_report *report)
{
	const char *pass = gpumap_plan_setting(plan, "pass_local_rank", rank);
	struct plan_rank at = {0};
	struct macros macros;
	char **arguments;
	int r = GPUMAP_OK;

	if (rank < 0 || !plan_rank(plan->core, (size_t)rank, &at))
		return GPUMAP_EINPUT;
	macros = macros_of(plan, &at, NULL);
	arguments = calloc(plan->argument_count + 2, sizeof(*arguments));
	if (!arguments)
		return report_nomem(report);
	for (size_t i = 0; i < plan->argument_count && r == GPUMAP_OK; i++)
		r = profile_expand(&arguments[i], plan->arguments[i], &macros,
				   ABOUT(.origin = "command"), report);
	if (r == GPUMAP_OK && plan->argument_count && pass && *pass && !streq(pass, "no")) {
		arguments[plan->argument_count] = local_rank_argument(pass, at.local_rank);
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
