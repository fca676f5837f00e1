/* SPDX-License-Identifier: MIT */
/* See plan_hosts.h. */
#include "job/host_finder.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/output.h"
#include "job/cpus.h"
#include "inventory/inventory.h"
#include "cli/machine.h"
#include "memory.h"
#include "plan/job.h"
#include "job/plan_open.h"
#include "profile/profile.h"
#include "job/rank_rows.h"
#include "readfile.h"
#include "report/report.h"
#include "text/expand.h"

/* --- what is known of them ------------------------------------------------------------ */

static unsigned flags_for(const struct finder *f, const char *what)
{
	return f->plan_for == PLAN_FOR_START && plan_looks(finder_value(f, "on_busy"), what)
		       ? GPUMAP_PROBE_FLAG_USAGE
		       : 0;
}

/* Findings about missing GPUs are left to the plan. */
static int open_quietly(struct finder *f, const char *what, gpumap_inventory **ret)
{
	size_t before = gpumap_report_count(f->report);
	int r = machine_open(ret, what, flags_for(f, what), f->report);

	report_drop(f->report, before, FINDING_NO_GPU);
	report_drop(f->report, before, FINDING_USAGE_REFUSED);
	if (r == GPUMAP_OK && gpumap_inventory_str(*ret, GPUMAP_INVENTORY_NO_GPU))
		report_drop(f->report, before, FINDING_NO_DRIVER);
	return r;
}

static int open_once(struct finder *f, const char *what, gpumap_inventory **ret)
{
	struct plan_hosts *all = f->ret;
	int r;

	for (size_t i = 0; i < all->count; i++)
		if (streq(all->opened[i].what, what)) {
			*ret = all->opened[i].inventory;
			return GPUMAP_OK;
		}
	r = open_quietly(f, what, ret);
	if (r != GPUMAP_OK)
		return r;
	*ARRAY_NEXT(all->opened, all->count, all->room) =
		(struct opened){.what = xstrdup(what), .inventory = *ret};
	return GPUMAP_OK;
}

/* The machine that was given for the i-th host; the caller frees it. */
static int inventory_of(struct finder *f, size_t i, char **ret)
{
	const char *name = gpumap_hosts_name(f->ret->hosts, i);
	const char *value = gpumap_profile_setting_at(f->profile, "inventory", GPUMAP_SETTING_VALUE,
						      name, (int64_t)i, -1, -1);
	struct macros macros = {-1, -1, (int64_t)i, name, NULL, NULL};
	struct expand_error error;
	CLEANUP(strbuf_free) struct strbuf buf = {0};

	if (!expand_macros(&buf, span_of(value), &macros, &error))
		return report_fail(f->report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
				   ABOUT(.origin = finder_origin(f, "inventory"), .fix = error.fix,
					 .speech = &f->speech),
				   SETTING("inventory") ": %s: '%s'", error.text,
				   QUOTE(span_of(value)));
	*ret = strbuf_take(&buf);
	return GPUMAP_OK;
}

static bool is_here(const char *what)
{
	return key_value(PKEY_PROFILE_inventory, what).word == PLAN_INVENTORY_HOST;
}

/* A recorded machine's cores are not this one's; those of simulated GPUs are. The nodes of a job
 * are like this host only if it has GPUs: a login node has other cores. */
static bool has_our_cores(const struct finder *f, const char *what,
			  const gpumap_inventory *inventory)
{
	if (f->plan_for != PLAN_FOR_JOB)
		return is_here(what) || synthetic_recognise(what);
	return is_here(what) && machine_has_gpus(inventory);
}

static void know_cores(struct finder *f, size_t i)
{
	const struct cpu_topology *t;
	struct cpus cpus = {.arena = {0}};

	cpus_read(&cpus, NULL, f->report);
	t = cpus.plan.topology;
	gpumap_hosts_set_cpus(f->ret->hosts, i, cpus.plan.allowed, t ? t->core : NULL,
			      t ? t->node : NULL, t ? t->count : 0);
	cpus_free(&cpus);
}

/* Sets this machine's data; `what` is its machine as given. */
static int know_here(struct finder *f, size_t i, const char *what)
{
	gpumap_inventory *inventory = NULL;
	int r = open_once(f, what, &inventory);

	if (r != GPUMAP_OK)
		return r;
	r = gpumap_hosts_set_inventory(f->ret->hosts, i, inventory);
	if (r == GPUMAP_OK)
		r = gpumap_hosts_set_environ(f->ret->hosts, i, (const char *const *)environ,
					     f->report);
	if (r == GPUMAP_OK && has_our_cores(f, what, inventory))
		know_cores(f, i);
	return r;
}

/* Another host with the same given machine is assumed to be like this one: all nodes must count the
 * ranks alike, and each node sees only itself. */
static int know_other(struct finder *f, size_t i, const char *here, size_t *alike)
{
	gpumap_inventory *inventory = NULL;
	CLEANUP_FREE char *what = NULL;
	int r = inventory_of(f, i, &what);

	if (r == GPUMAP_OK && here && streq(what, here)) {
		r = gpumap_hosts_set_like(f->ret->hosts, i, (size_t)f->ret->node);
		*alike += is_here(here);
	} else if (r == GPUMAP_OK && !is_here(what)) {
		r = open_once(f, what, &inventory);
		if (r == GPUMAP_OK)
			r = gpumap_hosts_set_inventory(f->ret->hosts, i, inventory);
	}
	return r;
}

static int know_all(struct finder *f)
{
	size_t count = gpumap_hosts_count(f->ret->hosts), alike = 0;
	int r = GPUMAP_OK;

	if (f->ret->node >= 0) {
		r = inventory_of(f, (size_t)f->ret->node, &f->ret->machine);
		if (r == GPUMAP_OK)
			r = know_here(f, (size_t)f->ret->node, f->ret->machine);
	}
	for (size_t i = 0; i < count && r == GPUMAP_OK; i++)
		if ((int64_t)i != f->ret->node)
			r = know_other(f, i, f->ret->machine, &alike);
	if (r == GPUMAP_OK && alike)
		report_add(f->report, FINDING_PLAN_UNKNOWN,
			   ABOUT(.origin = finder_origin(f, "inventory"), .speech = &f->speech,
				 .fix = RECORD_HOSTS),
			   "%zu other host%s not known here: assumed to have the same GPUs as this "
			   "one",
			   alike, alike == 1 ? " is" : "s are");
	return r;
}

/* Outside of the job's nodes, as in salloc's shell, the job counts too. */
static int know_job(struct finder *f)
{
	const char *job = finder_variable("SLURM_JOB_ID");
	char text[128];
	const char *const envp[] = {text, NULL};

	if (f->ret->node >= 0 || !job || !gpumap_hosts_count(f->ret->hosts) ||
	    key_value(PKEY_PROFILE_hosts, finder_value(f, "hosts")).word != PLAN_HOSTS_SLURM)
		return GPUMAP_OK;
	snprintf(text, sizeof(text), "SLURM_JOB_ID=%s", job);
	return gpumap_hosts_set_environ(f->ret->hosts, 0, envp, f->report);
}

int plan_hosts_open(struct plan_hosts *ret, const gpumap_profile *profile, const char *nnodes,
		    const char *node_rank, enum plan_for plan_for, gpumap_report *report)
{
	struct finder f = {.ret = ret, .profile = profile, .report = report, .plan_for = plan_for};
	int r;

	*ret = (struct plan_hosts){.node = -1};
	f.speech = profile_speech(profile);
	own_host_name(f.here, sizeof(f.here));
	r = gpumap_hosts_new(&ret->hosts);
	if (r == GPUMAP_OK)
		r = finder_add_names(&f, nnodes, node_rank);
	if (r == GPUMAP_OK)
		r = know_all(&f);
	if (r == GPUMAP_OK && plan_for != PLAN_FOR_RANK && ret->node >= 0)
		r = rank_rows_limit(ret->hosts, (size_t)ret->node, report);
	return r == GPUMAP_OK ? know_job(&f) : r;
}

void plan_hosts_free(struct plan_hosts *hosts)
{
	gpumap_hosts_free(hosts->hosts);
	free(hosts->machine);
	for (size_t i = 0; i < hosts->count; i++) {
		free(hosts->opened[i].what);
		gpumap_inventory_free(hosts->opened[i].inventory);
	}
	free(hosts->opened);
}
