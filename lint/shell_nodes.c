/* SPDX-License-Identifier: MIT */
/* Launchers of several nodes inside a job of Slurm: where they are started, and where they meet. */
#include "lint/shell_script.h"

static bool is_local(struct span host)
{
	return host.text &&
	       (span_is_any(host, "localhost ::1 [::1] 0.0.0.0") || span_starts(host, "127."));
}

/* The nodes of a program that Slurm or the script starts on each of them; -1: one, or not known. */
static int64_t step_nodes(const struct shell *sh, const struct run *run)
{
	const struct slurm *slurm = shell_step(sh, run);

	if (!slurm || slurm->parts || slurm->nodes < 2 || slurm_one_task(sh, slurm))
		return -1;
	return slurm->nodes;
}

static void report_local(struct shell *sh, struct span host, struct place at, int64_t nodes)
{
	shell_report(
		sh, FINDING_LOCAL_MEETING, at, NULL,
		"name the first node: $(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | "
		"head -n 1)",
		"%s is another host on each of the %lld nodes: their ranks wait for each other",
		QUOTE(host), (long long)nodes);
}

/* Reports a meeting place that each node has for itself. */
static void check_local(struct shell *sh, const struct setting *host, int64_t nodes)
{
	if (host->source == source_host)
		report_local(sh, span_of("$(hostname)"), host->at, nodes);
	else if (host->value.length && span_known(host->value) && is_local(host->value))
		report_local(sh, host->value, host->at, nodes);
}

/* torchrun numbers the nodes only in a rendezvous that is not static, which is its default. */
static void check_node_rank(struct shell *sh, const struct run *run, const struct launch *launch)
{
	static const char *const defaults[] = {"PET_NODE_RANK", "PET_RDZV_BACKEND"};
	const struct slurm *slurm = shell_step(sh, run);

	if (!slurm || slurm->parts || slurm_one_task(sh, slurm) || launch->nnodes < 2 ||
	    launch->numbered || launch->agrees || launch->loose || !by_torch(launch))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++)
		if (command_prefix(run->c, span_of(defaults[i])) ||
		    shell_setting(sh, shell_var(sh, span_of(defaults[i]))).state != SET_INHERITED)
			return;
	shell_report(sh, FINDING_SAME_NODE_RANK, launch->at, NULL,
		     launch->endpoint ? "add --rdzv-backend=c10d, which numbers them"
		     : launch->address.value.text
			     ? "write --rdzv-backend=c10d --rdzv-endpoint=HOST:29500, which "
			       "numbers them, with the host of --master-addr in its place"
			     : "add --rdzv-backend=c10d --rdzv-endpoint=FIRST_NODE:29500, which "
			       "numbers them",
		     "each of the %lld nodes is node 0 without --node-rank: they wait for node 1",
		     (long long)launch->nnodes);
}

void nodes_check(struct shell *sh, const struct run *run, const struct launch *launch)
{
	struct setting address = run_setting(sh, run, TRACKED_ADDRESS);
	bool waits = by_torch(launch) || launch->launcher == LINT_ACCELERATE;
	bool direct = (launch->launcher == LINT_DIRECT || launch->launcher == LINT_SRUN) &&
		      is_gpu_program(run->c, run->first);
	int64_t nodes = step_nodes(sh, run);

	check_node_rank(sh, run, launch);
	if (nodes > 1 && waits && launch->nnodes > 1) {
		check_local(sh, &launch->address, nodes);
	} else if (nodes > 1 && direct && is_given(&address)) {
		check_local(sh, &address, nodes);
	} else if (sh->batch && !shell_step(sh, run) && !sh->spread && waits &&
		   launch->nnodes > 1 && sh->slurm.nodes > 1 && !sh->waiting.at.line) {
		sh->waiting.at = launch->at;
		sh->waiting.launcher = launch->launcher;
		sh->waiting.nodes = launch->nnodes;
	}
}

void nodes_end(struct shell *sh)
{
	/* Another command may start the other nodes. */
	if (!sh->waiting.at.line || sh->remote)
		return;
	shell_report(sh, FINDING_FIRST_NODE, sh->waiting.at, NULL,
		     "start it on each node, by srun --ntasks-per-node=1",
		     "a batch script runs on the first node of its job alone: %s waits there for "
		     "%lld nodes",
		     lint_launcher_name(sh->waiting.launcher), (long long)sh->waiting.nodes);
}
