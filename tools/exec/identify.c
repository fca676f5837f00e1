/* SPDX-License-Identifier: MIT */
/* Which rank this process is: options, then its launcher's variables (rules R1, R2). */
#include "exec.h"

#include "job/rank_rows.h"
#include "report/report.h"

enum { MAX_RANKS = 0x7fffffff, MAX_NODES = 100000 };

static bool is_pods(const struct exec *exec)
{
	return exec->row_count && streq(exec->rows[0].row, "Kubernetes");
}

static int take_options(struct exec *exec)
{
	const struct exec_options *o = exec->options;
	const struct {
		const char *option, *value;
		int64_t least, max, *number;
	} taken[] = {
		{"--world-size", o->world_size, 1, MAX_RANKS, &exec->rank.world_size},
		{"--rank", o->rank, 0, MAX_RANKS, &exec->rank.rank},
		{"--local-rank", o->local_rank, 0, MAX_RANKS, &exec->rank.local_rank},
		{"--nnodes", o->plan.nnodes, 1, MAX_NODES, &exec->rank.nodes},
		{"--node-rank", o->plan.node_rank, 0, MAX_NODES, &exec->rank.node},
	};
	int r = GPUMAP_OK;

	for (size_t i = 0; i < ARRAY_SIZE(taken) && r == GPUMAP_OK; i++)
		if (taken[i].value)
			r = option_number(taken[i].option, taken[i].value, "a number",
					  taken[i].least, taken[i].max, taken[i].number,
					  exec->report);
	return r;
}

static int check_numbers(const struct job_rank *rank, gpumap_report *report)
{
	if (rank->rank < rank->world_size && rank->local_rank < rank->world_size &&
	    (rank->nodes < 0 || rank->node < rank->nodes))
		return GPUMAP_OK;
	return report_fail(report, GPUMAP_EINPUT, FINDING_EXEC_RANK,
			   ABOUT(.rule = "R1", .fix = "the first rank and the first node are 0"),
			   "there is no rank %lld of %lld, local rank %lld, node %lld of %lld",
			   (long long)rank->rank, (long long)rank->world_size,
			   (long long)rank->local_rank, (long long)rank->node,
			   (long long)rank->nodes);
}

static int check_known(struct exec *exec)
{
	const struct job_rank *rank = &exec->rank;

	if (rank->rank >= 0 && rank->world_size >= 0 && rank->local_rank >= 0)
		return check_numbers(rank, exec->report);
	if (is_pods(exec))
		return report_fail(
			exec->report, GPUMAP_EINPUT, FINDING_EXEC_RANK,
			ABOUT(.rule = "R2", .origin = "environment",
			      .fix = "start this node's ranks: gpumap run --nnodes $WORLD_SIZE "
				     "--node-rank $RANK"),
			"RANK=%lld and WORLD_SIZE=%lld number pods, not ranks: exec starts one "
			"program, and no launcher numbered the ranks of this pod",
			(long long)exec->rows[0].node_rank, (long long)exec->rows[0].nodes);
	return report_fail(exec->report, GPUMAP_EINPUT, FINDING_EXEC_RANK,
			   ABOUT(.rule = "R1", .origin = "environment",
				 .fix = "start it with srun, mpirun or a similar launcher, start "
					"all ranks with gpumap run, or give --rank, --world-size "
					"and --local-rank"),
			   "no launcher variable gives the rank of this process");
}

void exec_derive(struct job_rank *rank)
{
	if (rank->world_size == 1 || (rank->local_size > 0 && rank->local_size == rank->world_size))
		rank->nodes = 1;
	if (rank->nodes == 1) {
		rank->node = 0;
		rank->local_size = rank->world_size;
	}
}

bool exec_agrees(const struct exec *exec, const struct rank_identity *row)
{
	return row->rank == exec->rank.rank && row->size == exec->rank.world_size &&
	       row->local_rank == exec->rank.local_rank;
}

int exec_identify(struct exec *exec)
{
	const struct rank_identity *first = &exec->rows[0];
	size_t before = gpumap_report_count(exec->report);
	int r = rank_rows_read(exec->rows, &exec->row_count, exec->report);

	exec->rank = (struct job_rank){-1, -1, -1, -1, -1, -1, .row = -1};
	/* Warnings about a pod are left out: if it matters, an error reports it. */
	report_drop(exec->report, before, FINDING_NODE_NUMBERS);
	if (r != GPUMAP_OK)
		return r;
	if (exec->row_count) {
		exec->row = first->row;
		exec->rank.rank = first->rank;
		exec->rank.world_size = first->size;
		exec->rank.local_rank = first->local_rank;
		exec->rank.local_size = first->local_size;
		exec->rank.node = first->node_rank;
		exec->rank.nodes = first->nodes;
	}
	r = take_options(exec);
	if (r == GPUMAP_OK)
		r = check_known(exec);
	exec_derive(&exec->rank);
	return r;
}
