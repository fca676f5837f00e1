/* SPDX-License-Identifier: MIT */
/* Commands in one word: bash -c '...'. They are read where they stand, in a shell of their own. */
#include "lint/shell.h"

/* The text between the quotes of a word that is nothing else, and of which the shell changes
 * nothing but variables. */
struct span shell_quoted(struct span word)
{
	const struct span none = {NULL, 0};
	struct span inside;
	char quote;

	if (word.length < 2)
		return none;
	quote = *word.text;
	inside = (struct span){word.text + 1, word.length - 2};
	if ((quote != '\'' && quote != '"') || word.text[word.length - 1] != quote ||
	    memchr(inside.text, quote, inside.length))
		return none;
	if (quote == '"' &&
	    (memchr(inside.text, '\\', inside.length) || memchr(inside.text, '`', inside.length) ||
	     memmem(inside.text, inside.length, "$(", 2)))
		return none;
	return inside;
}

/* The options of a shell, behind word `first`, end at the word that is returned. */
static size_t behind_options(const struct command *c, size_t first, bool *commands)
{
	size_t i = first + 1;

	for (; i < c->count; i++) {
		struct span s = word_text(c, i);
		char last = s.length ? s.text[s.length - 1] : '\0';

		if (s.length < 2 || (*s.text != '-' && *s.text != '+'))
			break;
		if (span_is(s, "--rcfile") || span_is(s, "--init-file"))
			i++;
		if (span_starts(s, "--"))
			continue;
		*commands |= *s.text == '-' && memchr(s.text, 'c', s.length);
		i += last == 'o' || last == 'O';
	}
	return i < c->count ? i : c->count;
}

/* The word that a shell is given by -c; the command's count: there is none. */
static size_t find_string(const struct command *c, size_t first)
{
	static const char *const shells[] = {"sh", "bash", "dash", "ash", "ksh", "zsh", NULL};
	bool commands = false;
	size_t word;

	if (first >= c->count || !shell_any(base_name(word_text(c, first)), shells))
		return c->count;
	word = behind_options(c, first, &commands);
	return commands ? word : c->count;
}

bool shell_has_string(const struct command *c, size_t first)
{
	return find_string(c, first) < c->count;
}

/* What the program that runs the shell gives it. */
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
						   .derived = p->derived});
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
	size_t word = find_string(run->c, first);

	if (word < run->c->count)
		walk_word(sh, run, run->c->words[word]);
}
