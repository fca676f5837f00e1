/* SPDX-License-Identifier: MIT */
/* A plan of this rank: of its node alone, or its place in an earlier plan. */
#include "exec.h"

#include <stdio.h>

#include "cpuset.h"
#include "job/plan_hosts.h"
#include "profile/profile.h"
#include "report/report.h"
#include "strbuf.h"

static const char *value(const gpumap_profile *profile, const char *key)
{
	return gpumap_profile_setting(profile, key, GPUMAP_SETTING_VALUE);
}

static bool is_set(const gpumap_profile *profile, const char *key)
{
	return !streq(gpumap_profile_setting(profile, key, GPUMAP_SETTING_ORIGIN), "default");
}

/* --- the profile, for this rank alone ------------------------------------------------- */

/* Replaces the profile's value by that of the overrides for this rank. */
static int flatten(const struct exec *exec, gpumap_profile *profile)
{
	const struct job_rank *rank = &exec->rank;
	int r = GPUMAP_OK;

	for (enum profile_key_id i = SETTING_FIRST; i < SETTING_END && r == GPUMAP_OK; i++) {
		const char *name = profile_key(i)->key.name, *here;

		if (i == PKEY_PROFILE_inherit)
			continue;
		here = gpumap_profile_setting_at(profile, name, GPUMAP_SETTING_TEXT, exec->here,
						 rank->node, rank->rank, rank->local_rank);
		if (!here ||
		    streq(here, gpumap_profile_setting(profile, name, GPUMAP_SETTING_TEXT)))
			continue;
		r = gpumap_profile_set(
			profile, name, here,
			gpumap_profile_setting_at(profile, name, GPUMAP_SETTING_ORIGIN, exec->here,
						  rank->node, rank->rank, rank->local_rank),
			exec->report);
	}
	return r;
}

static int disagree(const struct exec *exec, const char *origin, const char *what,
		    int64_t launchers, int64_t plans)
{
	return report_fail(exec->report, GPUMAP_EINPUT, FINDING_EXEC_PLAN,
			   ABOUT(.origin = origin,
				 .fix = "start as many as the plan has, or plan for as many as "
					"are started"),
			   "%s %s %lld, the plan has %lld",
			   exec->row ? exec->row : "the command line", what, (long long)launchers,
			   (long long)plans);
}

/* The launcher decides the numbers of ranks. A profile may have those that the launcher does not
 * set. */
static int check_counts(struct exec *exec, const gpumap_profile *profile)
{
	int64_t world = profile_key_value(profile, PKEY_PROFILE_world_size).number;
	int64_t local = profile_key_value(profile, PKEY_PROFILE_ranks).number;

	if (world > 0 && world != exec->rank.world_size)
		return disagree(exec, "world_size", "counts a world size of", exec->rank.world_size,
				world);
	if (local > 0 && exec->rank.local_size < 0)
		exec->rank.local_size = local;
	if (local > 0 && local != exec->rank.local_size)
		return disagree(exec, "ranks", "counts a local size of", exec->rank.local_size,
				local);
	if (exec->rank.local_size >= 0 && exec->rank.local_rank >= exec->rank.local_size)
		return disagree(exec, "ranks", "has a local rank", exec->rank.local_rank,
				exec->rank.local_size);
	exec_derive(&exec->rank);
	return GPUMAP_OK;
}

/* --- without devices --------------------------------------------------------------------- */

static bool keeps_list(const gpumap_profile *profile)
{
	return profile_key_value(profile, PKEY_PROFILE_gpus).word == PLAN_GPUS_INHERIT &&
	       profile_key_value(profile, PKEY_PROFILE_share).word == PLAN_SHARE_LIST;
}

static bool has_none(const gpumap_profile *profile)
{
	return profile_key_value(profile, PKEY_PROFILE_gpus).word == PLAN_GPUS_NONE;
}

static bool binds(const gpumap_profile *profile)
{
	return (is_set(profile, "cpu_bind") &&
		profile_key_value(profile, PKEY_PROFILE_cpu_bind).word != PLAN_CPU_NONE) ||
	       (is_set(profile, "mem_bind") &&
		profile_key_value(profile, PKEY_PROFILE_mem_bind).word != PLAN_MEM_NONE);
}

static bool needs_machine(const gpumap_profile *profile)
{
	return (!keeps_list(profile) && !has_none(profile)) || binds(profile);
}

/* Devices are not examined: the program inherits what this process inherited. */
static void pass_through(struct exec *exec, const gpumap_profile *profile)
{
	int64_t threads = profile_key_value(profile, PKEY_PROFILE_threads).number;

	exec->local = (struct local_rank){.logical = -1, .threads = threads > 0 ? (int)threads : 0};
	if (has_none(profile))
		exec->local.visible = "";
	exec_check_grant(exec);
}

/* --- with the devices of this node ------------------------------------------------------- */

static bool by_rank(const char *text)
{
	const char *modulo = strstr(text, "modulo");

	return strstr(text, "%r") || strstr(text, "%n") ||
	       (modulo && !strstr(text, "local-modulo"));
}

/* Whether this rank alone is checked. The plan of a node does not know the global numbers of its
 * ranks; and for a list that only this task has it does not know the local rank. */
static bool checks_use(const struct exec *exec, const gpumap_profile *profile)
{
	for (enum profile_key_id i = SETTING_FIRST; i < SETTING_END; i++)
		if (key_picks_device(i) && by_rank(value(profile, profile_key(i)->key.name)))
			return false;
	return !exec_own_gpus(exec);
}

static int set_all(struct exec *exec, gpumap_profile *profile)
{
	bool own = exec_own_gpus(exec), checks = checks_use(exec, profile);
	char ranks[24];
	const struct {
		const char *key, *value;
	} sets[] = {
		{"world_size", "auto"},
		{"hosts", ""},
		{"ranks", own ? "1" : ranks},
		{"device", checks ? NULL : "unknown"},
		{"set_device", checks ? NULL : ""},
		{"device_ids", checks ? NULL : ""},
	};
	int r = GPUMAP_OK;

	snprintf(ranks, sizeof(ranks), "%lld", (long long)exec->rank.local_size);
	for (size_t i = 0; i < ARRAY_SIZE(sets) && r == GPUMAP_OK; i++)
		if (sets[i].value)
			r = gpumap_profile_set(profile, sets[i].key, sets[i].value, "exec",
					       exec->report);
	return r;
}

static void take_local_rank(struct exec *exec, const gpumap_profile *profile,
			    const gpumap_hosts *hosts)
{
	const struct plan_layout *layout = job_host(exec->node_plan, 0)->layout;
	size_t l = exec_own_gpus(exec) ? 0 : (size_t)exec->rank.local_rank;

	exec->local = layout->ranks[l];
	exec->rank.device_order = layout->device_order;
	if (keeps_list(profile)) {
		exec->local.visible = NULL;
		exec->rank.device_order = NULL;
	}
	/* A task that is bound already keeps its cores. A task with its own GPUs would otherwise
	 * take its neighbours' cores. */
	if ((exec_is_bound(hosts) || exec_own_gpus(exec)) && !is_set(profile, "cpu_bind")) {
		exec->local.cpus = NULL;
		if (profile_key_value(profile, PKEY_PROFILE_threads).word == PLAN_THREADS_AUTO)
			exec->local.threads = 0;
		if (!is_set(profile, "mem_bind"))
			exec->local.nodes = NULL;
	}
}

static int plan_node_alone(struct exec *exec, gpumap_profile *profile)
{
	struct plan_hosts hosts = {.node = -1};
	int r = set_all(exec, profile);

	if (r == GPUMAP_OK)
		r = plan_hosts_open(&hosts, profile, NULL, NULL, PLAN_FOR_RANK, exec->report);
	if (r == GPUMAP_OK)
		r = plan_make_quietly(&exec->node_plan, profile, hosts.hosts, exec->report);
	if (r == GPUMAP_OK && !exec->node_plan->answered)
		r = GPUMAP_EINPUT;
	if (r == GPUMAP_OK) {
		take_local_rank(exec, profile, hosts.hosts);
		r = exec_check_use(exec, hosts.count ? hosts.opened[0].inventory : NULL);
	}
	plan_hosts_free(&hosts);
	return r;
}

/* If options or files describe the machine, the host is not examined. */
static int check_described(struct exec *exec, const gpumap_profile *profile)
{
	const char *what = value(profile, "inventory");
	OWNED(inventory) *inventory = NULL;
	int r = GPUMAP_OK;

	if (profile_key_value(profile, PKEY_PROFILE_inventory).word != PLAN_INVENTORY_HOST &&
	    !strchr(what, '%'))
		r = gpumap_inventory_open(&inventory, what, exec->report);
	if (r == GPUMAP_OK)
		r = exec_check_use(exec, inventory);
	return r;
}

/* One of a launcher's ranks is not refused for what gpumap read in its code: the others would wait.
 */
static int only_warn(struct exec *exec, gpumap_profile *profile)
{
	if (!streq(gpumap_profile_setting(profile, "lint", GPUMAP_SETTING_ORIGIN), "default"))
		return GPUMAP_OK;
	return gpumap_profile_set(profile, "lint", "warn", "default", exec->report);
}

static int plan_profile(struct exec *exec, gpumap_profile *profile)
{
	int r = flatten(exec, profile);

	if (r == GPUMAP_OK)
		r = only_warn(exec, profile);
	if (r == GPUMAP_OK)
		r = plan_read_program(profile, NULL, exec->report);
	if (r == GPUMAP_OK)
		r = check_counts(exec, profile);
	if (r == GPUMAP_OK)
		r = job_alone(&exec->plan, profile, exec->report);
	exec->rank.local = &exec->local;
	if (r != GPUMAP_OK)
		return r;
	if (!needs_machine(profile)) {
		pass_through(exec, profile);
		return check_described(exec, profile);
	}
	if (exec->rank.local_size < 0 && !exec_own_gpus(exec))
		return report_fail(exec->report, GPUMAP_EINPUT, FINDING_EXEC_RANK,
				   ABOUT(.rule = "R4",
					 .fix = "give --ranks N, the number of ranks of this host"),
				   "%s does not report how many ranks share this host's GPUs",
				   exec->row ? exec->row : "the command line");
	return plan_node_alone(exec, profile);
}

/* Remarks what only the launcher can do: start, watch and end the ranks. */
static void remark_lost(struct exec *exec)
{
	const struct speech speech = job_speech(exec->plan);
	CLEANUP(strbuf_free) struct strbuf lost = {0};

	for (enum profile_key_id i = SETTING_FIRST; i < SETTING_END; i++) {
		const struct plan_setting *setting = SETTING_OF(&exec->plan->settings, i);

		/* A profile may be for gpumap run as well, so only options are reported. */
		if ((profile_key(i)->use & EXEC_LOSES) && setting->origin &&
		    *setting->origin == '-')
			strbuf_printf(&lost, "%s" SETTING("%s = %s"), lost.length ? ", " : "",
				      profile_key(i)->key.name, setting->text);
	}
	if (lost.text)
		report_add(exec->report, FINDING_LAUNCHER_LOSES,
			   ABOUT(.origin = "exec", .speech = &speech,
				 .fix = "gpumap run supports every setting"),
			   "no effect, because another launcher watches the ranks: %s", lost.text);
}

int exec_plan(struct exec *exec)
{
	OWNED(profile) *profile = NULL;
	int r;

	own_host_name(exec->here, sizeof(exec->here));
	if (exec->options->plan.file)
		return exec_plan_file(exec);
	r = plan_profile_open(&profile, &exec->options->plan, exec->report);
	if (r == GPUMAP_OK)
		r = plan_profile(exec, profile);
	if (r == GPUMAP_OK)
		remark_lost(exec);
	return r;
}
