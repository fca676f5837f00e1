/* SPDX-License-Identifier: MIT */
/* Slurm's variables and GPUs, as a script uses them: lists that are not those of the job, and
 * numbers of ranks that are none. */
#include "lint/shell_script.h"

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
	struct setting now;
	const char *fix;

	if (!launch->ranks.source || launch->nproc >= 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (streq(launch->ranks.source, numbers[i].name))
			number = &numbers[i];
	if (!number)
		return;
	now = shell_setting(sh, shell_var(sh, span_of(number->name)));
	fix = FORMAT("write $%s, which is a number", number->instead);
	if (now.state == SET_VALUE && span_number(now.value, INT32_MAX) < 0)
		shell_report(sh, FINDING_SLURM_NUMBER, launch->ranks.at, NULL, fix,
			     "$%s is %s here: %s cannot read it as a number of ranks", number->name,
			     QUOTE(now.value), name);
	else if (sh->batch && now.state == SET_INHERITED && number->option &&
		 unset_here(&sh->slurm, number->option))
		shell_report(sh, FINDING_SLURM_NUMBER, launch->ranks.at, NULL, fix,
			     "$%s may be unset here: Slurm sets it only if the job has %s, so %s "
			     "gets no number of ranks",
			     number->name, number->option, name);
}

/* Variables of Slurm with the number of tasks. */
static bool counts_tasks(const char *source)
{
	return source && span_is_any(span_of(source), "SLURM_NTASKS_PER_NODE SLURM_TASKS_PER_NODE "
						      "SLURM_NTASKS SLURM_NPROCS");
}

void slurm_check_square(struct shell *sh, const struct launch *launch, int64_t ranks, int64_t tasks)
{
	if (ranks < 2 || tasks < 2 || !counts_tasks(launch->ranks.source))
		return;
	shell_report(sh, FINDING_RANKS_MAY_SHARE, launch->at, "R3",
		     "use srun --ntasks-per-node=1: the launcher starts the ranks of a node",
		     "%lld tasks on each node start %s with %lld ranks each: %lld ranks may share "
		     "the GPUs of a node",
		     (long long)tasks, lint_launcher_name(launch->launcher), (long long)ranks,
		     (long long)(tasks * ranks));
}

static void report_foreign(struct shell *sh, const struct setting *choice)
{
	static const char fix[] = "leave it out: Slurm sets CUDA_VISIBLE_DEVICES itself";

	if (streq(choice->source, source_array_sum))
		shell_report(sh, FINDING_FOREIGN_LIST, choice->at, "L1", fix,
			     "SLURM_ARRAY_TASK_ID numbers the jobs of an array, and not the GPUs "
			     "that Slurm gives each of them");
	else
		shell_report(sh, FINDING_FOREIGN_LIST, choice->at, "L3", fix,
			     "%s has the numbers of the node: a job whose devices Slurm constrains "
			     "counts its own from 0, so this list may name others, or none",
			     choice->source);
}

/* The GPUs of the job on a node at most; -1: not known. */
static int64_t granted(const struct slurm *slurm)
{
	int64_t tasks = slurm->tasks > 0 ? slurm->tasks : slurm->tasks_per_node;

	if (slurm->exclusive || slurm->parts)
		return -1;
	if (slurm->per_node > 0 || slurm->total > 0)
		return slurm->per_node > 0 ? slurm->per_node : slurm->total;
	return slurm->per_task > 0 && tasks > 0 ? slurm->per_task * tasks : -1;
}

static bool is_source(const struct setting *choice, const char *name)
{
	return choice->source && streq(choice->source, name);
}

/* `choice`: where the GPUs of a program are chosen, by the list or an option of its launcher. */
static void check_choice(struct shell *sh, const struct slurm *slurm, const char *name,
			 const struct setting *choice)
{
	int64_t count = granted(slurm);

	if (is_source(choice, "SLURM_JOB_GPUS") || is_source(choice, "SLURM_STEP_GPUS")) {
		report_foreign(sh, choice);
	} else if (is_source(choice, source_array_sum)) {
		/* In arithmetic it may stay below the number of GPUs. */
		if (slurm_has_gpus(slurm) && (choice->source != source_array_sum || count == 1))
			report_foreign(sh, choice);
	} else if (count > 0 && span_known(choice->value) &&
		   shell_largest(choice->value) >= count) {
		shell_report(sh, FINDING_FOREIGN_LIST, choice->at, "L1",
			     "leave it out: Slurm sets CUDA_VISIBLE_DEVICES itself",
			     "%s is fixed, and Slurm gives this job %lld GPU%s of the node: it may "
			     "name GPUs of other jobs, or none",
			     SHOW(span_of(name), choice->value), (long long)count,
			     count == 1 ? "" : "s");
	}
}

void slurm_check_list(struct shell *sh, const struct run *run)
{
	struct shell_var *var = &sh->vars[TRACKED_LIST];
	struct setting list = run_setting(sh, run, TRACKED_LIST);

	if (!is_given(&list) || list.judged)
		return;
	if (!command_prefix(run->c, var->name))
		var->now.judged = true;
	check_choice(sh, run->srun ? &run->slurm : &sh->slurm, tracked_name(TRACKED_LIST), &list);
}

void slurm_check_ids(struct shell *sh, const struct run *run, const struct launch *launch)
{
	bool accelerate = launch->launcher == LINT_ACCELERATE;
	struct setting choice = launch->ids;

	if (!is_given(&launch->ids))
		return;
	/* localhost:0,1 */
	if (!accelerate && !span_skip(&choice.value, "localhost:"))
		return;
	check_choice(sh, run->srun ? &run->slurm : &sh->slurm,
		     accelerate ? "--gpu_ids" : "--include", &choice);
}
