/* SPDX-License-Identifier: MIT */
/* Commands in one word: bash -c '...'. They are read in place, in a subshell. */
#include "lint/shell_script.h"

/* Passes on the variables that the program around the shell gives it. */
static void hand_over(struct shell *sh, const struct run *run)
{
	const struct command *c = run->c;

	for (size_t i = 0; i < c->prefix_count; i++) {
		const struct prefix *p = &c->prefixes[i];
		struct shell_var *var = p->argument ? NULL : shell_var(sh, p->name);

		if (var)
			shell_set(sh, var,
				  (struct setting){.state = SET_VALUE,
						   .exported = EXPORT_YES,
						   .value = p->value,
						   .at = p->at,
						   .used = true,
						   .derived = p->derived,
						   .task = p->task});
	}
	if (run->srun && (run->slurm.per_node >= 0 || run->slurm.per_task >= 0))
		shell_forget(sh, span_of(tracked_name(TRACKED_LIST)));
}

static void walk_word(struct shell *sh, const struct run *run, struct word w)
{
	size_t at = w.quoted.text ? (size_t)(w.quoted.text - sh->text.text) : 0;
	struct lexer lx = {
		.text = sh->text.text,
		.at = at,
		.end = at + w.quoted.length,
		.line = w.at.line,
		.line_start = at - (size_t)w.at.column,
	};
	bool allexport = sh->allexport;

	if (!w.quoted.text || run->cleared || run->slurm.exports_nothing ||
	    sh->level + 1 == SHELL_COMMANDS || !shell_push(sh, FRAME_SUBSHELL, w.at))
		return;
	hand_over(sh, run);
	sh->allexport = false;
	sh->level++;
	shell_walk(sh, &lx);
	sh->level--;
	sh->allexport = allexport;
	if (sh->job_count > shell_frame(sh)->jobs)
		sh->job_count = shell_frame(sh)->jobs;
	shell_pop(sh);
}

void shell_string(struct shell *sh, const struct run *run, size_t first)
{
	size_t word = shell_string_word(run->c, first);

	if (word < run->c->count)
		walk_word(sh, run, run->c->words[word]);
}
