/* SPDX-License-Identifier: MIT */
/* Slurm's variables and GPUs, as a script uses them: lists that are not those of the job, and
 * numbers of ranks that are none. */
#include "lint/shell_script.h"

#include <stdio.h>

static const struct number {
	const char *name, *instead;
	const char *option; /* by which Slurm sets it; NULL: always */
} numbers[] = {
	{"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE", "--gpus-per-node"},
	{"SLURM_GPUS_PER_TASK", "SLURM_GPUS_ON_NODE", "--gpus-per-task"},
	{"SLURM_GPUS", "SLURM_GPUS_ON_NODE", "--gpus"},
	{"SLURM_NTASKS_PER_NODE", "SLURM_GPUS_ON_NODE", "--ntasks-per-node"},
	{"SLURM_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE", NULL},
};

/* Whether the job asks for the same thing by another option than the variable's. */
static bool unset_here(const struct slurm *slurm, const char *option)
{
	if (streq(option, "--gpus-per-node"))
		return slurm_has_gpus(slurm) && !slurm->node_gpus.text;
	if (streq(option, "--gpus-per-task"))
		return slurm_has_gpus(slurm) && !slurm->task_gpus.text;
	if (streq(option, "--gpus"))
		return slurm_has_gpus(slurm) && !slurm->all_gpus.text;
	return slurm->has_tasks && !slurm->has_tasks_per_node;
}

void slurm_check_number(struct shell *sh, const struct launch *launch)
{
	const char *name = lint_launcher_name(launch->launcher);
	const struct number *number = NULL;
	struct shell_var *var;
	struct setting now;
	char fix[96];

	if (!launch->nproc_source || launch->nproc >= 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (streq(launch->nproc_source, numbers[i].name))
			number = &numbers[i];
	if (!number)
		return;
	var = shell_var(sh, span_of(number->name));
	if (!var)
		return;
	now = shell_setting(sh, var);
	snprintf(fix, sizeof(fix), "write $%s, which is a number", number->instead);
	if (now.state == SET_VALUE && span_number(now.value, INT32_MAX) < 0)
		shell_report(sh, FINDING_SLURM_NUMBER, launch->nproc_at, NULL, fix,
			     "$%s is %s here: %s cannot read it as a number of ranks", number->name,
			     QUOTE(now.value), name);
	else if (sh->batch && now.state == SET_INHERITED && number->option &&
		 unset_here(&sh->slurm, number->option))
		shell_report(sh, FINDING_SLURM_NUMBER, launch->nproc_at, NULL, fix,
			     "$%s may be unset here: Slurm sets it only if the job has %s, so %s "
			     "gets no number of ranks",
			     number->name, number->option, name);
}

static void report_foreign(struct shell *sh, const struct setting *list, const char *source)
{
	if (source && streq(source, "SLURM_ARRAY_TASK_ID"))
		shell_report(sh, FINDING_FOREIGN_LIST, list->at, "L1",
			     "leave it out: Slurm sets CUDA_VISIBLE_DEVICES itself",
			     "SLURM_ARRAY_TASK_ID numbers the jobs of an array, and not the GPUs "
			     "that Slurm gives each of them");
	else
		shell_report(sh, FINDING_FOREIGN_LIST, list->at, "L3",
			     "leave it out: Slurm sets CUDA_VISIBLE_DEVICES itself",
			     "%s has the numbers of the node: a job whose devices Slurm constrains "
			     "counts its own from 0, so this list may name others, or none",
			     source);
}

/* The GPUs of the job on a node at most; -1: not known. */
static int64_t granted(const struct slurm *slurm)
{
	if (slurm->exclusive || slurm->parts)
		return -1;
	return slurm->per_node > 0 ? slurm->per_node : slurm->total > 0 ? slurm->total : -1;
}

void slurm_check_list(struct shell *sh, const struct run *run)
{
	struct shell_var *var = &sh->vars[TRACKED_LIST];
	struct setting list = run_setting(sh, run, tracked_name(TRACKED_LIST));
	const struct slurm *slurm = run->srun ? &run->slurm : &sh->slurm;
	int64_t count = granted(slurm);

	if (list.state != SET_VALUE || list.exported != EXPORT_YES || list.judged)
		return;
	if (!command_prefix(run->c, var->name))
		var->now.judged = true;
	if (list.source &&
	    (streq(list.source, "SLURM_JOB_GPUS") || streq(list.source, "SLURM_STEP_GPUS"))) {
		report_foreign(sh, &list, list.source);
	} else if (list.source && streq(list.source, "SLURM_ARRAY_TASK_ID")) {
		/* In arithmetic it may stay below the number of GPUs. */
		if (slurm_has_gpus(slurm) && (list.source != source_array_sum || count == 1))
			report_foreign(sh, &list, list.source);
	} else if (count > 0 && span_known(list.value) && shell_largest(list.value) >= count) {
		shell_report(sh, FINDING_FOREIGN_LIST, list.at, "L1",
			     "leave it out: Slurm sets CUDA_VISIBLE_DEVICES itself",
			     "%s is fixed, and Slurm gives this job %lld GPU%s of the node: it may "
			     "name GPUs of other jobs, or none",
			     SHOW(span_of(tracked_name(TRACKED_LIST)), list.value),
			     (long long)count, count == 1 ? "" : "s");
	}
}
