/* SPDX-License-Identifier: MIT */
/* Hugging Face accelerate: a command for each host. */
#include "emit/emit.h"

static bool can(struct emitter *e)
{
	const struct emit_node *other = emit_unlike(e);

	if (e->ranks > 1 && !e->nodes[0].gpus) {
		emit_remark(e, FINDING_LAUNCHER_CANNOT, "use torchrun",
			    "without GPUs accelerate starts one process, not %zu ranks", e->ranks);
		return false;
	}
	if (other)
		emit_remark(e, FINDING_LAUNCHER_CANNOT,
			    "use torchrun, or the same " SETTING("ranks = N") " on every host",
			    "accelerate starts as many ranks on each host: %s has %zu, %s %zu",
			    e->nodes[0].host->name, e->nodes[0].ranks, other->host->name,
			    other->ranks);
	return !other;
}

static void put_processes(struct emitter *e, size_t node)
{
	emit_wordf(e, "--num_machines=%zu", e->node_count);
	if (e->node_count > 1)
		emit_wordf(e, "--machine_rank=%zu", node);
	emit_wordf(e, "--num_processes=%zu", e->ranks);
	if (!*e->nodes[node].list) {
		emit_word(e, "--cpu");
	} else {
		if (e->ranks > 1)
			emit_word(e, "--multi_gpu");
		/* Then it keeps the variable. It refuses a single id where it has a
		 * default_config.yaml. */
		emit_word(e, "--gpu_ids=all");
	}
	if (e->node_count == 1 && !e->plan->master_port)
		return;
	emit_wordf(e, "--main_process_ip=%s", e->plan->master_addr);
	emit_wordf(e, "--main_process_port=%d", e->plan->master_port);
}

static void put_node(struct emitter *e, size_t node)
{
	emit_start(e, node, EMIT_LIST);
	/* It starts one process directly, not by torchrun. */
	if (e->ranks == 1)
		emit_rank(e, node);
	emit_word(e, "accelerate");
	emit_word(e, "launch");
	put_processes(e, node);
	if (job_restarts(e->plan) && e->ranks > 1)
		emit_wordf(e, "--max_restarts=%d", job_restarts(e->plan));
	emit_no_python(e);
	emit_end(e);
}

static void put_remarks(struct emitter *e)
{
	bool lost = e->ranks > 1 ? emit_on_fail(e) == PLAN_ON_FAIL_WAIT : job_restarts(e->plan) > 0;
	const enum profile_key_id kept = lost ? PKEY_COUNT : PKEY_PROFILE_on_fail;

	emit_loses(e, emit_needs_exec(e), &kept, 1);
	if (e->nodes[0].gpus && e->ranks == 1)
		emit_remark(e, FINDING_LAUNCHER_ENVIRONMENT,
			    "use torchrun, which reads no such file",
			    "a default_config.yaml of accelerate with use_cpu = true puts a single "
			    "rank on the CPU");
	emit_remark(e, FINDING_LAUNCHER_STATUS, "gpumap run returns the failing rank's",
		    "accelerate returns 1, whatever the status of the rank that failed");
	emit_remark(e, FINDING_LAUNCHER_ORPHANS, "gpumap run leaves none",
		    "an accelerate that is killed with SIGKILL leaves its ranks behind, on their "
		    "GPUs");
	if (e->node_count == 1 && !e->plan->master_port)
		emit_port(e);
}

void emit_accelerate(struct emitter *e)
{
	if (!can(e))
		return;
	emit_plan_file(e);
	for (size_t i = 0; i < e->node_count; i++) {
		emit_label(e, i);
		put_node(e, i);
	}
	put_remarks(e);
}
