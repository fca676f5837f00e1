/* SPDX-License-Identifier: MIT */
/* Steps of Slurm: what srun's tasks get, and what the shell expands before they start. */
#include "lint/shell_script.h"

const struct slurm *shell_step(const struct shell *sh, const struct run *run)
{
	return run->srun ? &run->slurm : sh->in_step ? &sh->slurm : NULL;
}

/* Whether every task has the number 0 anyhow. */
static bool always_zero(const struct shell *sh, const struct slurm *slurm, const char *variable)
{
	if (slurm_one_task(sh, slurm))
		return true;
	if (streq(variable, "SLURM_LOCALID") && slurm->tasks < 0 && slurm->tasks_per_node < 2)
		return true;
	return slurm->nodes == 1 && streq(variable, "SLURM_NODEID");
}

static void report_expanded(struct shell *sh, struct place at, const char *variable, int line)
{
	shell_report(
		sh, FINDING_EXPANDED_EARLY, at, "R1",
		FORMAT("let a shell in the task expand it: srun bash -c '... $%s ...'", variable),
		"$%s is expanded before srun in line %d starts its tasks: all get the same value",
		variable, line);
}

/* --node_rank=0, or the word after it */
static bool is_node_rank(const struct command *c, size_t i)
{
	struct span s = word_text(c, i), before = i ? word_text(c, i - 1) : s;

	return span_starts_any(s, "--node_rank= --node-rank=") ||
	       span_is_any(before, "--node_rank --node-rank");
}

static void check_expanded(struct shell *sh, const struct run *run, size_t word,
			   const struct launch *launch)
{
	static const enum tracked ranks[] = {TRACKED_RANK, TRACKED_LOCAL_RANK};
	const struct command *c = run->c;
	struct slurm slurm = run->slurm;
	int line = c->words[word].at.line;
	bool torch = by_torch(launch);

	/* Several nodes, which sbatch itself is given. */
	if (slurm.nodes < 0 && launch->nnodes != 1)
		slurm.nodes = 0;
	/* For one node, and where the nodes agree on their ranks, torchrun does not look at its
	 * own.
	 */
	for (size_t i = run->first; i < c->count && !(torch && launch->nnodes == 1); i++)
		if (is_task_variable(c->words[i].source) &&
		    !(torch && launch->agrees && is_node_rank(c, i)) &&
		    !always_zero(sh, &slurm, c->words[i].source)) {
			report_expanded(sh, c->words[i].at, c->words[i].source, line);
			return;
		}
	if (launch->launcher != LINT_SRUN || !is_gpu_program(c, run->first))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++) {
		struct setting now = run_setting(sh, run, ranks[i]);

		if (is_given(&now) && is_task_variable(now.source) &&
		    !always_zero(sh, &slurm, now.source)) {
			report_expanded(sh, now.at, now.source, line);
			return;
		}
	}
}

static void check_own_gpus(struct shell *sh, const struct run *run, struct place at,
			   enum lint_launcher launcher)
{
	const struct slurm *slurm = &run->slurm;
	int64_t own = slurm_own_gpus(slurm);
	const char *option = slurm->bind.text   ? FORMAT("--gpu-bind=%.40s", QUOTE(slurm->bind))
			     : slurm->bound > 0 ? "--ntasks-per-gpu"
						: "--gpus-per-task";

	if (own < 0 || (own == 0 && slurm->per_task < 0) || launcher != LINT_SRUN ||
	    slurm_one_task(sh, slurm) || slurm->tasks_per_node == 1 ||
	    !is_gpu_program(run->c, run->first))
		return;
	shell_report(sh, FINDING_GPU_PER_TASK, at, "L3",
		     "ask for --gpus-per-node=N and let gpumap exec give each task its GPU",
		     "with %s each task sees its own %s: cuda:LOCAL_RANK fails there, and CUDA IPC "
		     "between tasks may",
		     option,
		     own > 1 ? FORMAT("%lld GPUs, from cuda:0 on", (long long)own)
			     : "GPU alone, as cuda:0");
}

/* Whether a setting stands before a word. */
static bool is_before(struct place setting, struct place word)
{
	return setting.line < word.line ||
	       (setting.line == word.line && setting.column < word.column);
}

/* python FILE or python -m MODULE, which each task starts. */
static bool is_python_program(const struct command *c, size_t i)
{
	struct span s = word_text(c, i);

	if (!is_python(s))
		return is_python_file(s);
	return i + 1 < c->count && !span_is(word_text(c, i + 1), "-c");
}

void slurm_check_tasks(struct shell *sh, const struct run *run, const struct launch *launch)
{
	const struct slurm *step = shell_step(sh, run);
	struct setting list = run_setting(sh, run, TRACKED_LIST);
	int64_t tasks = step ? slurm_tasks(step) : -1;

	if (!step || tasks <= step->per_node || step->per_node < 1 || step->exclusive ||
	    step->unbound || step->shared || slurm_own_gpus(step) >= 0 ||
	    (launch->launcher != LINT_SRUN && launch->launcher != LINT_DIRECT) ||
	    !is_python_program(run->c, run->first))
		return;
	/* What is set before srun, srun replaces. */
	if (list.state != SET_INHERITED && !(run->srun && is_before(list.at, launch->at)))
		return;
	shell_report(sh, FINDING_RANKS_MAY_SHARE, launch->at, "R3",
		     "start as many tasks on a node as it has GPUs, or let gpumap exec choose",
		     "%lld tasks of srun on each node may share GPUs: the job has %lld GPU%s there",
		     (long long)tasks, (long long)step->per_node, step->per_node == 1 ? "" : "s");
}

void slurm_check(struct shell *sh, struct run *run, size_t word, const struct launch *launch)
{
	const struct slurm *slurm = &run->slurm;
	struct place at = run->c->words[word].at;
	struct setting list = run_setting(sh, run, TRACKED_LIST);
	enum lint_launcher launcher = launch->launcher;

	check_expanded(sh, run, word, launch);

	check_own_gpus(sh, run, at, launcher);
	if (slurm->unbound)
		shell_report(sh, FINDING_GPU_BIND_NONE, at, "L5",
			     "leave --gpu-bind out and let gpumap exec give each task its GPU",
			     "--gpu-bind=none unsets the list of the step's GPUs");
	if (slurm->exports_nothing && is_given(&list))
		shell_report(
			sh, FINDING_LOST_VARIABLE, at, "S8",
			"leave out --export=NONE, or name the variable in --export",
			"CUDA_VISIBLE_DEVICES=%s of line %d is lost: --export=NONE keeps it from "
			"the tasks",
			QUOTE(list.value), list.at.line);
	/* A setting after srun, by env, is later. */
	if (!is_before(list.at, at))
		slurm_check_list(sh, run);
	if (slurm_has_gpus(slurm) && !slurm->unbound && is_before(list.at, at) &&
	    launcher == LINT_SRUN && is_given(&list))
		shell_report(
			sh, FINDING_LIST_REPLACED, at, "S10",
			"leave it out, or set it after srun: srun ... gpumap exec --gpus 2,3 -- "
			"PROGRAM",
			"srun gives each task the list of the step's GPUs: "
			"CUDA_VISIBLE_DEVICES=%s of line %d is replaced",
			QUOTE(list.value), list.at.line);
}
