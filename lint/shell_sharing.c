/* SPDX-License-Identifier: MIT */
/* Programs that run at the same time on the same GPUs. */
#include "lint/shell_script.h"

#include <stdio.h>

static bool is_launcher(enum lint_launcher launcher)
{
	return launcher == LINT_TORCHRUN || launcher == LINT_TORCH_LAUNCH ||
	       launcher == LINT_ACCELERATE || launcher == LINT_DEEPSPEED;
}

/* Whether the program is told to use the CPU. */
static bool on_cpu(const struct command *c, size_t first)
{
	for (size_t i = first; i < c->count; i++) {
		struct span s = word_text(c, i);

		if (span_has(s, "cpu") || span_has(s, "gloo"))
			return true;
	}
	return false;
}

static uint64_t first_gpus(int64_t count)
{
	return count < 1 || count > 63 ? 0 : (UINT64_C(1) << count) - 1;
}

/* localhost:0,1 */
static struct span included(struct span ids)
{
	if (span_has(ids, "@") || !span_skip_to(&ids, ":"))
		return (struct span){"", 0};
	return ids;
}

/* When the list was set last, or may have been. */
static unsigned list_base(const struct shell *sh)
{
	const struct shell_var *var = &sh->vars[TRACKED_LIST];
	unsigned base = var->now.serial;

	base = base > sh->sourced ? base : sh->sourced;
	return var->by_function && sh->called > base ? sh->called : base;
}

struct gpus sharing_gpus(struct shell *sh, const struct run *run, const struct launch *launch)
{
	struct setting list = run_setting(sh, run, TRACKED_LIST);
	bool deepspeed = launch->launcher == LINT_DEEPSPEED;
	bool prefix = command_prefix(run->c, span_of(tracked_name(TRACKED_LIST)));
	struct gpus gpus = {.derived = list.derived || launch->ranks.derived};

	if (run->dropped || shell_step(sh, run) || sh->spread || launch->cpu || launch->filtered ||
	    launch->loose || launch->hosts || launch->nnodes != 1 || on_cpu(run->c, run->first))
		return gpus;
	if (!is_launcher(launch->launcher) && launch->launcher != LINT_DIRECT)
		return gpus;
	if (is_given(&launch->ids) && !span_is(launch->ids.value, "all")) {
		gpus.bits = shell_devices(
			sh, deepspeed ? included(launch->ids.value) : launch->ids.value, -1);
		gpus.derived = launch->ids.derived;
	} else if (deepspeed && is_given(&launch->ranks)) {
		gpus.bits = first_gpus(launch->nproc);
	} else if (is_given(&list) && span_known(list.value)) {
		gpus.bits = shell_devices(sh, list.value, launch->nproc);
	} else if (!prefix && launch->nproc > 1 && is_launcher(launch->launcher)) {
		gpus.bits = first_gpus(launch->nproc);
		gpus.relative = true;
		gpus.base = list_base(sh);
		gpus.derived |= list.state == SET_UNKNOWN;
	}
	return gpus;
}

/* "GPU 2", "GPUs 0,1" */
static const char *show(struct quoted *ret, uint64_t bits)
{
	size_t n = (size_t)snprintf(ret->text, sizeof(ret->text), "%s",
				    bits & (bits - 1) ? "GPUs" : "GPU");

	for (int i = 0, count = 0; i < 64; i++)
		if (bits >> i & 1)
			n += (size_t)snprintf(ret->text + n, sizeof(ret->text) - n, "%s%d",
					      count++ ? "," : " ", i);
	return ret->text;
}
#define NUMBERS(bits) show(&(struct quoted){{0}}, bits)

/* Two programs may share a GPU on purpose: their lists are the same then. */
static bool is_slip(const struct job *a, const struct job *b)
{
	if (is_launcher(a->launcher) && is_launcher(b->launcher))
		return true;
	return a->gpus.bits != b->gpus.bits;
}

void sharing_check(struct shell *sh, const struct job *job)
{
	/* A script that looks after its jobs may have ended them. */
	for (size_t i = 0; job->gpus.bits && !sh->watched && i < sh->job_count; i++) {
		const struct job *other = &sh->jobs[i];
		uint64_t both = other->gpus.bits & job->gpus.bits;

		if (!other->background || !both || other->gpus.relative != job->gpus.relative ||
		    other->gpus.base != job->gpus.base || !is_slip(job, other))
			continue;
		shell_report(sh, FINDING_GPUS_SHARED, job->at, NULL,
			     "give each its own CUDA_VISIBLE_DEVICES, or wait for the first",
			     "%s may be used by two programs: the one in line %d runs at the same "
			     "time",
			     NUMBERS(both), other->at.line);
		return;
	}
}

void sharing_rounds(struct shell *sh, const struct job *job, const struct frame *loop)
{
	if (!job->gpus.bits || job->gpus.derived || sh->watched || !is_launcher(job->launcher))
		return;
	shell_report(sh, FINDING_GPUS_SHARED, job->at, NULL,
		     "give each round its own CUDA_VISIBLE_DEVICES, or wait in the loop",
		     "%s may be used by all rounds of the loop in line %d at the same time",
		     NUMBERS(job->gpus.bits), loop->at.line);
}
