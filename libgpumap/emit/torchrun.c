/* SPDX-License-Identifier: MIT */
/* torchrun: a command for each host. Options are spelled with _, which every version accepts. */
#include "emit/emit.h"

/* torchrun does not know gpumap's macros. */
static bool keeps_logs(const struct emitter *e)
{
	const char *folder = e->plan->settings.log_dir.text;

	return *folder && !strchr(folder, '%') &&
	       (emit_is_set(e, PKEY_PROFILE_redirects) || emit_is_set(e, PKEY_PROFILE_tee));
}

static void put_rendezvous(struct emitter *e, size_t node)
{
	if (e->node_count == 1 && !e->plan->master_port) {
		/* --standalone chooses a name itself. */
		emit_word(e, e->plan->run_named ? "--rdzv_backend=c10d" : "--standalone");
		if (e->plan->run_named)
			emit_word(e, "--rdzv_endpoint=localhost:0");
		return;
	}
	if (e->node_count > 1) {
		emit_wordf(e, "--nnodes=%zu", e->node_count);
		emit_wordf(e, "--node_rank=%zu", node);
	}
	emit_wordf(e, "--master_addr=%s", e->plan->master_addr);
	emit_wordf(e, "--master_port=%d", e->plan->master_port);
}

/* Uses torchrun's own options; the files then have other names, and are in a folder that torchrun
 * makes in log_dir. */
static void put_streams(struct emitter *e)
{
	static const enum profile_key_id keys[] = {PKEY_PROFILE_redirects, PKEY_PROFILE_tee};
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!emit_is_set(e, keys[i]))
			continue;
		emit_wordf(e, "--%s=%s", profile_key(keys[i])->key.name,
			   SETTING_OF(&e->plan->settings, keys[i])->text);
		any = true;
	}
	if (any && keeps_logs(e))
		emit_wordf(e, "--log_dir=%s", e->plan->settings.log_dir.text);
}

static void put_node(struct emitter *e, size_t node)
{
	emit_start(e, node, EMIT_LIST);
	emit_word(e, "torchrun");
	put_rendezvous(e, node);
	emit_run(e, "--rdzv_id");
	emit_wordf(e, "--nproc_per_node=%zu", e->nodes[node].ranks);
	if (job_restarts(e->plan))
		emit_wordf(e, "--max_restarts=%d", job_restarts(e->plan));
	put_streams(e);
	emit_python(e);
	emit_end(e);
}

static void put_remarks(struct emitter *e)
{
	const enum profile_key_id kept[] = {
		PKEY_PROFILE_redirects,
		PKEY_PROFILE_tee,
		keeps_logs(e) ? PKEY_PROFILE_log_dir : PKEY_COUNT,
		emit_on_fail(e) == PLAN_ON_FAIL_WAIT ? PKEY_COUNT : PKEY_PROFILE_on_fail,
	};

	emit_loses(e, emit_needs_exec(e), kept, ARRAY_SIZE(kept));
	if (emit_needs_exec(e))
		emit_remark(
			e, FINDING_LAUNCHER_NEEDS, "install gpumap on every host",
			"the command starts the ranks with gpumap exec, so that each has its own "
			"GPUs (--virtual-local-rank of torchrun would keep LOCAL_WORLD_SIZE)");
	emit_remark(e, FINDING_LAUNCHER_STATUS, "gpumap run returns the failing rank's",
		    "torchrun returns 1, whatever the status of the rank that failed");
	emit_remark(e, FINDING_LAUNCHER_ORPHANS, "gpumap run leaves none",
		    "a torchrun that is killed with SIGKILL leaves its ranks behind, on their "
		    "GPUs");
}

void emit_torchrun(struct emitter *e)
{
	emit_plan_file(e);
	for (size_t i = 0; i < e->node_count; i++) {
		emit_label(e, i);
		put_node(e, i);
	}
	put_remarks(e);
}
