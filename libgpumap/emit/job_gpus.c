/* SPDX-License-Identifier: MIT */
/* Whether there are GPUs for the ranks, as the settings want. */
#include "emit/emit.h"

/* A common number of GPUs per node, for remedies in which any number works. */
enum { USUAL_GPUS = 8 };

/* The number of GPUs that a node needs for its ranks; in dp and mp a rank takes any number. */
static size_t needed_gpus(const struct emitter *e)
{
	int mode = e->plan->settings.mode.word;
	int64_t each = e->plan->settings.ranks_per_gpu.number;
	size_t max = 1;

	if (mode == PLAN_DP || mode == PLAN_MP)
		return USUAL_GPUS;
	for (size_t i = 0; i < e->node_count; i++)
		max = e->nodes[i].ranks > max ? e->nodes[i].ranks : max;
	return each > 1 ? (max - 1) / (size_t)each + 1 : max;
}

/* Whether the settings themselves ask for no GPUs. */
static bool plans_no_gpus(const struct emitter *e)
{
	const char *inventory = e->plan->settings.inventory.text;

	return span_number(span_of(inventory), INT32_MAX) == 0 || starts_with(inventory, "0x") ||
	       e->plan->settings.gpus.word == PLAN_GPUS_NONE ||
	       e->plan->settings.device.word == DEVICE_CPU;
}

bool emit_asks_gpus(struct emitter *e)
{
	size_t count = needed_gpus(e);
	struct quoted split = {""};

	if (plans_no_gpus(e))
		return true;
	for (size_t i = 0; i < e->node_count; i++)
		if (e->nodes[i].gpus)
			return true;
	if (e->node_count == 1 && count > USUAL_GPUS && count % USUAL_GPUS == 0)
		format_text(
			&split,
			", for %zu nodes with %d each with --nnodes %zu --ranks %d --inventory %d",
			count / USUAL_GPUS, USUAL_GPUS, count / USUAL_GPUS, USUAL_GPUS, USUAL_GPUS);
	emit_remark(e, FINDING_LAUNCHER_CANNOT,
		    FORMAT("plan with %s for nodes with %zu GPU%s each%s, or with %s for a job "
			   "without GPUs",
			   FORMAT(SETTING("inventory = %zu"), count), count, count == 1 ? "" : "s",
			   split.text, SETTING("gpus = none")),
		    e->scheduled ? "the job would ask for no GPU, as the plan has none on %s"
				 : "the ranks would get no GPU, as the plan has none on %s",
		    e->nodes[0].host->name);
	return false;
}
