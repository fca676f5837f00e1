/* SPDX-License-Identifier: MIT */
/* A rank's place in an earlier plan. */
#include "exec.h"

#include <stdio.h>

#include "job/plan_hosts.h"
#include "report/report.h"

static int differs(const struct exec *exec, const char *fix, const char *what, int64_t launchers,
		   int64_t plans)
{
	return report_fail(exec->report, GPUMAP_EINPUT, FINDING_EXEC_PLAN,
			   ABOUT(.origin = exec->options->plan.file, .fix = fix),
			   "the %s is %lld (%s), but %lld in the plan", what, (long long)launchers,
			   exec->row ? exec->row : "command line", (long long)plans);
}

/* Finds the plan's node for this machine. If the plan's hosts are counted, not named, their names
 * are those of the planning machine, and the launcher's number decides. */
static int find_node(struct exec *exec, int64_t *node)
{
	int64_t given = exec->rank.node;
	bool counted = !*exec->plan->settings.hosts.text;

	if (counted && job_host(exec->plan, given))
		*node = given;
	else if (counted && *node < 0 && exec->plan->host_count == 1)
		*node = 0;
	if (*node < 0)
		return report_fail(exec->report, GPUMAP_EINPUT, FINDING_EXEC_PLAN,
				   ABOUT(.origin = exec->options->plan.file,
					 .fix = "plan for this host, or give --node-rank N"),
				   "this host, %s, is not in the plan", exec->here);
	if (given >= 0 && given != *node)
		return differs(exec, "plan for the hosts in the launcher's order", "node rank",
			       given, *node);
	return GPUMAP_OK;
}

static int check_sizes(struct exec *exec, int64_t node)
{
	int64_t count = (int64_t)job_host(exec->plan, node)->layout->count;
	int64_t world = (int64_t)exec->plan->world_size;
	int64_t nodes = (int64_t)exec->plan->host_count;
	const char *fix = "start as many ranks as the plan has, or plan for as many";

	if (exec->rank.world_size != world)
		return differs(exec, fix, "world size", exec->rank.world_size, world);
	if (exec->rank.nodes >= 0 && exec->rank.nodes != nodes)
		return differs(exec, fix, "number of nodes", exec->rank.nodes, nodes);
	if (exec->rank.local_size >= 0 && exec->rank.local_size != count)
		return differs(exec, fix, "local size", exec->rank.local_size, count);
	if (exec->rank.local_rank >= count)
		return report_fail(exec->report, GPUMAP_EINPUT, FINDING_EXEC_PLAN,
				   ABOUT(.origin = exec->options->plan.file, .fix = fix),
				   "local rank %lld: the plan has %lld rank%s for this host",
				   (long long)exec->rank.local_rank, (long long)count,
				   count == 1 ? "" : "s");
	return GPUMAP_OK;
}

/* GPUs and cores follow from the host and the local rank. The rank's number is the launcher's,
 * because programs of MPI have it from MPI as well. */
static void take_place(struct exec *exec, int64_t node)
{
	struct job_rank *rank = &exec->rank;
	const struct plan_host *host = job_host(exec->plan, node);

	rank->node = node;
	rank->nodes = (int64_t)exec->plan->host_count;
	rank->local_size = (int64_t)host->layout->count;
	rank->row = (int64_t)host->first_rank + rank->local_rank;
	rank->host = host->name;
	rank->device_order = host->layout->device_order;
	exec->local = host->layout->ranks[rank->local_rank];
	rank->local = &exec->local;
	if (rank->row != rank->rank)
		report_add(exec->report, FINDING_EXEC_PLACE,
			   ABOUT(.rule = "R4", .origin = exec->options->plan.file),
			   "rank %lld is local rank %lld of %s, the plan's rank %lld: it has that "
			   "one's GPUs and cores, and keeps its number",
			   (long long)rank->rank, (long long)rank->local_rank, host->name,
			   (long long)rank->row);
}

/* A program on the command line replaces the plan's. */
static int replace_program(struct exec *exec)
{
	OWNED(profile) *profile = NULL;
	int r;

	if (!exec->options->plan.program && !exec->options->plan.module)
		return GPUMAP_OK;
	r = gpumap_profile_new(&profile);
	if (r == GPUMAP_OK)
		r = plan_set_program(profile, &exec->options->plan, exec->report);
	if (r == GPUMAP_OK)
		r = job_arguments_of(exec->plan, profile);
	return r;
}

/* Remarks about a plan were shown when it was made. */
static int open_plan(struct exec *exec, int64_t *node)
{
	struct plan_options options = exec->options->plan;
	size_t before = gpumap_report_count(exec->report);
	int r;

	options.program = NULL;
	options.module = options.nnodes = NULL;
	options.no_python = false;
	options.one = true;
	r = plan_open(&exec->plan, node, &options, exec->report);
	report_keep(exec->report, before, finding_matters, NULL);
	return r;
}

int exec_plan_file(struct exec *exec)
{
	int64_t node;
	int r = open_plan(exec, &node);

	if (r != GPUMAP_OK)
		return r;
	if (!exec->plan->answered)
		return report_fail(exec->report, GPUMAP_EINPUT, FINDING_EXEC_PLAN,
				   ABOUT(.origin = exec->options->plan.file,
					 .fix = "see why with gpumap plan, and plan anew"),
				   "this plan cannot be started");
	if (exec->plan->lease)
		return report_fail(
			exec->report, GPUMAP_EINPUT, FINDING_LEASE_NOT_HERE,
			ABOUT(.origin = exec->options->plan.file,
			      .fix = "start it with gpumap run --plan, or plan for GPUs by number"),
			"the plan is for GPUs that gpumap run leases: %s", exec->plan->lease);
	r = find_node(exec, &node);
	if (r == GPUMAP_OK)
		r = check_sizes(exec, node);
	if (r == GPUMAP_OK)
		r = replace_program(exec);
	if (r != GPUMAP_OK)
		return r;
	take_place(exec, node);
	exec_check_grant(exec);
	plan_judge_inside(exec->plan, node, exec->rank.local_rank, exec->report);
	return exec->plan->answered ? exec_check_use(exec, NULL) : GPUMAP_EINPUT;
}
