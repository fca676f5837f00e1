/* SPDX-License-Identifier: MIT */
/* The cores of the rank, within those that the launcher left it. */
#include "exec.h"

#include "cpuset.h"
#include "job/plan_hosts.h"
#include "report/report.h"

/* Whether this process may run on some of the machine's CPUs only. */
bool exec_is_bound(const gpumap_hosts *hosts)
{
	const struct cpu_topology *t = &hosts->hosts[0].topology;
	const char *allowed = hosts->hosts[0].cpus.allowed;
	CLEANUP(arena_free) struct arena arena = {0};
	struct cpu_set set;
	bool bound = false;

	if (allowed && cpu_set_parse(&arena, &set, span_of(allowed)))
		for (size_t i = 0; i < t->count && !bound; i++)
			bound = t->core[i] >= 0 && !cpu_set_has(set, i);
	return bound;
}

static bool inside(struct cpu_set part, struct cpu_set whole)
{
	for (size_t i = 0; i < cpu_set_end(part); i++)
		if (cpu_set_has(part, i) && !cpu_set_has(whole, i))
			return false;
	return true;
}

/* Cores outside of those that the launcher left belong to others. */
int exec_bind(struct exec *exec)
{
	const struct speech speech = job_speech(exec->plan);
	struct local_rank *local = &exec->local;
	struct cpu_set wanted, own;
	bool known;

	if (!local->cpus)
		return GPUMAP_OK;
	known = cpu_set_allowed(&exec->arena, &own);
	/* rank_place() refuses a malformed list. */
	if (!cpu_set_parse(&exec->arena, &wanted, span_of(local->cpus)))
		return GPUMAP_OK;
	if (!known || inside(wanted, own))
		return GPUMAP_OK;
	if (!exec->plan->settings.cpu_bind.origin) {
		local->cpus = local->nodes = NULL;
		return GPUMAP_OK;
	}
	wanted = cpu_set_and(&exec->arena, wanted, own);
	if (cpu_set_size(wanted)) {
		local->cpus = cpu_set_print(&exec->arena, wanted);
		return GPUMAP_OK;
	}
	return report_fail(
		exec->report, GPUMAP_EINPUT, FINDING_EXEC_CPUS,
		ABOUT(.origin = exec->plan->settings.cpu_bind.origin, .speech = &speech,
		      .fix = "write " SETTING(
			      "cpu_bind = none") ", or let the launcher bind to nothing"),
		"rank %lld may use none of the cores %s that the plan gives it: the "
		"launcher left it %s",
		(long long)exec->rank.rank, local->cpus, cpu_set_print(&exec->arena, own));
}
