/* SPDX-License-Identifier: MIT */
/* Slurm: what #SBATCH lines and the options of sbatch and srun ask for. */
#include "lint/shell_script.h"

/* --ntasks takes precedence: --ntasks-per-node is only a limit beside it. */
static void check_fewer(struct shell *sh, const struct slurm *slurm, struct place at)
{
	if (!slurm->has_tasks || !slurm->has_tasks_per_node || slurm->tasks < 1 ||
	    slurm->tasks >= slurm->tasks_per_node)
		return;
	shell_report(
		sh, FINDING_FEWER_TASKS, at, NULL,
		FORMAT("leave out --ntasks, which is a total, or write --ntasks=%lld",
		       (long long)(slurm->tasks_per_node *
				   (slurm->nodes_exact && slurm->nodes > 0 ? slurm->nodes : 1))),
		"--ntasks=%lld overrules --ntasks-per-node=%lld: %lld task%s in all",
		(long long)slurm->tasks, (long long)slurm->tasks_per_node, (long long)slurm->tasks,
		slurm->tasks == 1 ? " starts" : "s start");
}

/* Slurm 26.05 refuses the two together. */
static void check_twice(struct shell *sh, const struct slurm *slurm, struct place at)
{
	if (slurm->gres && slurm->gpus)
		shell_report(
			sh, FINDING_GPUS_TWICE, at, NULL,
			"keep --gpus-per-node, and leave out --gres=gpu",
			"--gres=gpu and --gpus-per-node both ask for the GPUs of a node: Slurm "
			"26.05 refuses them together");
}

static void read_line(struct shell *sh, struct span line, int number)
{
	struct span word, after, rest = line;
	struct slurm before = sh->slurm;
	struct slurm_option option;

	slurm_word(&rest); /* #SBATCH */
	/* What follows is about another part of the job. */
	if (span_is_any(span_trim(rest), "hetjob packjob")) {
		sh->slurm = slurm_of_parts(false);
		return;
	}
	while (is_option(word = slurm_word(&rest))) {
		struct span peek = rest;

		after = slurm_word(&peek);
		option = slurm_option(word, after, true);
		slurm_take(&sh->slurm, &option);
		if (option.words == 2)
			rest = peek;
	}
	if (sh->slurm.tasks != before.tasks || sh->slurm.tasks_per_node != before.tasks_per_node)
		sh->tasks_at = (struct place){number, 1};
	if (!before.gres || !before.gpus)
		check_twice(sh, &sh->slurm, (struct place){number, 1});
}

/* Slurm reads such lines up to the first command. */
void slurm_comments(struct shell *sh)
{
	struct span rest = sh->text, line;

	for (int number = 1; span_split(&rest, '\n', &line); number++) {
		line = span_trim(line);
		if (line.length && *line.text != '#')
			break;
		sh->queued |= span_starts_any(line, "#SBATCH #PBS #BSUB #$ #FLUX: #COBALT #OAR");
		if (!span_starts(line, "#SBATCH"))
			continue;
		sh->batch = true;
		read_line(sh, line, number);
	}
	if (sh->slurm.parts) {
		sh->slurm = slurm_of_parts(sh->slurm.array);
		return;
	}
	slurm_settle(&sh->slurm);
	check_fewer(sh, &sh->slurm, sh->tasks_at);
	if (sh->batch)
		slurm_set_variables(sh, &sh->slurm, false);
}

/* Reads the options from word `first` on. Returns the word behind them. */
static size_t read_options(struct shell *sh, const struct command *c, size_t first, bool batch,
			   struct slurm *slurm)
{
	size_t i = first;

	for (struct slurm_option option; i < c->count && is_option(word_text(c, i));
	     i += option.words) {
		struct span word = word_text(c, i), after = word_text(c, i + 1);

		if (!batch && span_is(word, "--")) {
			i++;
			break;
		}
		slurm->parts |= !batch && span_starts(word, "--het-group");
		if (!batch &&
		    (is_gpu_program(c, i + 1) || shell_string_word(c, i + 1) < c->count) &&
		    !memchr(word.text, '=', word.length))
			after = (struct span){"-", 1};
		option = slurm_option(word, after, batch);
		slurm_take(slurm, &option);
	}
	slurm_settle(slurm);
	check_twice(sh, slurm, c->words[first - 1].at);
	check_fewer(sh, slurm, c->words[first - 1].at);
	return i < c->count ? i : c->count;
}

size_t slurm_sbatch(struct shell *sh, const struct command *c, size_t first, struct slurm *slurm)
{
	*slurm = slurm_unknown();
	return read_options(sh, c, first + 1, true, slurm);
}

/* What srun inherits of the requests of the batch script. */
static struct slurm inherited(const struct slurm *job)
{
	struct slurm slurm = *job;

	slurm.exports_nothing = slurm.tasks_here = false;
	slurm.has_tasks = slurm.has_tasks_per_node = slurm.has_nodes = false;
	slurm.gres = slurm.gpus = false;
	return slurm;
}

size_t slurm_srun(struct shell *sh, struct run *run, size_t first)
{
	run->slurm = inherited(&sh->slurm);
	return read_options(sh, run->c, first, false, &run->slurm);
}
