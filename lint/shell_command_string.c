/* SPDX-License-Identifier: MIT */
/* Commands in one word: bash -c '...'. They are read in place, in a subshell. */
#include "lint/shell_script.h"

/* Passes on the variables that the program around the shell gives it. */
static void hand_over(struct shell *sh, const struct run *run)
{
	const struct command *c = run->c;

	for (size_t i = 0; i < c->prefix_count; i++) {
		const struct prefix *p = &c->prefixes[i];
		struct setting set = p->set;

		set.used = true;
		if (!p->argument)
			shell_set(sh, shell_var(sh, p->name), set);
	}
}

/* Slurm replaces the list of a job or step that has GPUs, or unsets it. */
static void hand_over_slurm(struct shell *sh, const struct slurm *slurm, bool step)
{
	slurm_set_variables(sh, slurm, step);
	if (slurm_has_gpus(slurm) && !slurm->unbound)
		shell_set(sh, &sh->vars[TRACKED_LIST], (struct setting){.state = SET_INHERITED});
	else if (slurm_has_gpus(slurm))
		shell_forget(sh, span_of(tracked_name(TRACKED_LIST)));
}

/* What the shell in the background starts, runs in the background too. */
static void keep_jobs(struct shell *sh, bool background)
{
	size_t first = shell_frame(sh)->jobs;

	if (!background && sh->job_count > first)
		sh->job_count = first;
	for (size_t i = first; i < sh->job_count; i++)
		sh->jobs[i].background = true;
}

/* The commands of a word run in a step or a job of Slurm, or where the script runs. */
struct inside {
	const struct slurm *slurm; /* NULL: not in another step or job */
	bool step, spread;
};

static void walk_word(struct shell *sh, const struct run *run, struct word w, struct inside inside)
{
	size_t at = w.quoted.text ? (size_t)(w.quoted.text - sh->text.text) : 0;
	struct lexer lx = {
		.text = sh->text.text,
		.at = at,
		.end = at + w.quoted.length,
		.line = w.at.line,
		.line_start = at - (size_t)w.at.column,
	};
	bool allexport = sh->allexport, in_step = sh->in_step, spread = sh->spread;
	bool batch = sh->batch, in_job = sh->in_job;
	struct slurm slurm = sh->slurm;

	if (!w.quoted.text || run->cleared || sh->level + 1 == SHELL_COMMANDS ||
	    !shell_push(sh, FRAME_SUBSHELL, w.at))
		return;
	hand_over(sh, run);
	if (inside.slurm) {
		hand_over_slurm(sh, inside.slurm, inside.step);
		sh->slurm = *inside.slurm;
		sh->in_step = inside.step;
		sh->in_job |= !inside.step;
		sh->batch |= !inside.step;
	}
	sh->allexport = false;
	sh->spread |= inside.spread;
	sh->level++;
	shell_walk(sh, &lx);
	sh->level--;
	sh->allexport = allexport;
	sh->in_step = in_step;
	sh->spread = spread;
	sh->batch = batch;
	sh->in_job = in_job;
	sh->slurm = slurm;
	keep_jobs(sh, run->background && !inside.slurm && !inside.spread);
	shell_pop(sh);
}

void shell_string(struct shell *sh, const struct run *run, size_t first)
{
	size_t word = shell_string_word(run->c, first);
	struct inside inside = {.slurm = run->srun ? &run->slurm : NULL,
				.step = true,
				.spread = run->srun || first != run->first};

	if (word < run->c->count && !run->slurm.exports_nothing)
		walk_word(sh, run, run->c->words[word], inside);
}

void shell_wrap(struct shell *sh, const struct run *run)
{
	static const char wrap[] = "--wrap";
	const struct command *c = run->c;
	struct slurm slurm;
	size_t end = slurm_sbatch(sh, c, run->first, &slurm);

	for (size_t i = run->first + 1; i < end && !slurm.exports_nothing; i++) {
		struct word w = c->words[i];

		if (span_is(word_text(c, i), wrap) && i + 1 < end)
			w = c->words[i + 1];
		else if (span_starts(word_text(c, i), "--wrap="))
			w.at.column += (int)sizeof(wrap);
		else
			continue;
		walk_word(sh, run, w, (struct inside){.slurm = &slurm});
		return;
	}
}
