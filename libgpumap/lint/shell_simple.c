/* SPDX-License-Identifier: MIT */
/* The words of a command, and the commands inside them. */
#include "lint/shell.h"

struct command *shell_fresh(struct shell *sh)
{
	struct command *c = &sh->commands[sh->level];

	c->text.length = 0;
	c->count = c->prefix_count = c->inner_count = 0;
	c->reads_list = false;
	return c;
}

void shell_inner(struct shell *sh, struct command *c)
{
	if (sh->level + 1 == SHELL_COMMANDS)
		return;
	sh->level++;
	for (size_t i = 0; i < c->inner_count && !sh->failed; i++) {
		struct lexer lx = c->inner[i].lexer;

		if (!shell_push(sh, FRAME_SUBSHELL, lexer_place(&lx)))
			break;
		shell_walk(sh, &lx);
		if (sh->job_count > shell_frame(sh)->jobs)
			sh->job_count = shell_frame(sh)->jobs;
		shell_pop(sh);
	}
	sh->level--;
}

int64_t shell_rounds(const struct command *c)
{
	for (size_t i = 1; i < c->count; i++) {
		struct span s = word_text(c, i);

		if (c->words[i].loose || !span_known(s) || memchr(s.text, '*', s.length) ||
		    memchr(s.text, '{', s.length) || memchr(s.text, '?', s.length))
			return -1;
	}
	return (int64_t)c->count - 1;
}

static void add_prefix(struct shell *sh, struct command *c, struct token t)
{
	size_t n = shell_name(t.text);
	bool adds = t.text.text[n] == '+', argument = c->count > 0, derived;
	struct prefix *grown =
		array_room(c->prefixes, c->prefix_count, &c->prefix_room, sizeof(*grown));
	struct token value = t;

	if (!grown) {
		sh->failed = true;
		return;
	}
	c->prefixes = grown;
	value.text.text += n + adds + 1;
	value.text.length -= n + adds + 1;
	value.at.column += (int)(n + adds) + 1;
	grown[c->prefix_count] = (struct prefix){
		.name = {t.text.text, n},
		.value = shell_value(sh, c, value, &derived),
		.at = t.at,
		.adds = adds,
		.argument = argument,
	};
	grown[c->prefix_count++].derived = derived;
}

static bool is_assignment(struct span s)
{
	size_t n = shell_name(s);

	n += n && n < s.length && s.text[n] == '+';
	return n && n < s.length && s.text[n] == '=';
}

static bool declares(const struct command *c)
{
	struct span s = word_text(c, 0);

	return span_is(s, "export") || span_is(s, "declare") || span_is(s, "typeset") ||
	       span_is(s, "local") || span_is(s, "readonly");
}

void shell_word(struct shell *sh, struct command *c, struct token t)
{
	if (is_assignment(t.text) && (!c->count || declares(c)))
		add_prefix(sh, c, t);
	else
		shell_expand(sh, c, t, true);
}
