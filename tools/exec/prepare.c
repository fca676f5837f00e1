/* SPDX-License-Identifier: MIT */
/* The arguments and folder of the rank's program, and all stages before it runs. */
#include "exec.h"

#include "job/rank_place.h"
#include "report/report.h"

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
	job_free_arguments(&exec->arguments);
	free(exec->changes);
	gpumap_plan_free(exec->plan);
	gpumap_plan_free(exec->node_plan);
	arena_free(&exec->arena);
}
