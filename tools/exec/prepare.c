/* SPDX-License-Identifier: MIT */
/* The arguments, folder and cores of the rank's program. */
#include "exec.h"

#include "cpuset.h"
#include "job/rank_place.h"
#include "report/report.h"

/* --- cores --------------------------------------------------------------------------------- */

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

/* --- the whole ------------------------------------------------------------------------------ */

/* On a node without a given number of ranks the job's ranks count. */
static bool nests(const struct exec *exec)
{
	int64_t ranks = exec->rank.local_size >= 0 ? exec->rank.local_size : exec->rank.world_size;
	size_t count = 0;

	while (exec->arguments[count])
		count++;
	return plan_nests((const char *const *)exec->arguments, count, (size_t)ranks, exec->report);
}

int exec_prepare(struct exec *exec)
{
	int r = exec_bind(exec);

	if (!exec->rank.host)
		exec->rank.host = exec->here;
	if (r == GPUMAP_OK)
		r = exec_change(exec);
	if (r == GPUMAP_OK)
		r = job_arguments(&exec->arguments, exec->plan, &exec->rank, exec->report);
	if (r == GPUMAP_OK && !exec->arguments[0])
		r = report_fail(exec->report, GPUMAP_EINPUT, FINDING_NO_PROGRAM,
				ABOUT(.fix = "write it after --"),
				"no program: neither the command line nor the profile has one");
	if (r == GPUMAP_OK && nests(exec))
		r = GPUMAP_EINPUT;
	exec->launch.argv = exec->arguments;
	return r == GPUMAP_OK ? rank_place(&exec->launch, &exec->arena, exec->plan, &exec->rank,
					   exec->report)
			      : r;
}

int exec_make(struct exec *exec)
{
	int r = exec_identify(exec);

	if (r == GPUMAP_OK)
		r = exec_plan(exec);
	if (r == GPUMAP_OK)
		r = exec_meet(exec);
	if (r == GPUMAP_OK)
		r = exec_prepare(exec);
	return r;
}

void exec_free(struct exec *exec)
{
	for (size_t i = 0; exec->arguments && exec->arguments[i]; i++)
		free(exec->arguments[i]);
	free((void *)exec->arguments);
	free(exec->changes);
	gpumap_plan_free(exec->plan);
	gpumap_plan_free(exec->node_plan);
	arena_free(&exec->arena);
}
