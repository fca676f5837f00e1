/* SPDX-License-Identifier: MIT */
/* Statements about variables that the shell reads as something else. */
#include "lint/shell_script.h"

/* "export NAME=VALUE", if the value is plain. */
static const char *write_it(struct quoted *ret, const char *before, struct span name,
			    struct span value)
{
	return format_text(ret, "write %s%.*s=%.*s, without blanks", before, (int)name.length,
			   name.text, value.length < 100 ? (int)value.length : 0,
			   span_known(value) ? value.text : "");
}
#define WRITE_IT(before, name, value) write_it(&(struct quoted){{0}}, before, name, value)

/* Whether it is a piece of a list that was split by blanks: digits and commas. */
static bool is_list_piece(struct span s)
{
	for (size_t i = 0; i < s.length; i++)
		if (!is_digit(s.text[i]) && s.text[i] != ',')
			return false;
	return s.length > 0;
}

static struct span whole_list(const struct command *c, struct span begin, size_t first,
			      char room[100])
{
	size_t length = begin.length < 40 ? begin.length : 0;

	memcpy(room, begin.text, length);
	for (size_t i = first; i < c->count && is_list_piece(word_text(c, i)); i++) {
		struct span s = word_text(c, i);

		if (length + s.length >= 100)
			break;
		memcpy(room + length, s.text, s.length);
		length += s.length;
	}
	return (struct span){room, length};
}

/* NAME = VALUE, or NAME =VALUE, perhaps after export. */
static bool with_blanks(struct shell *sh, struct command *c)
{
	bool exports = span_is(word_text(c, 0), "export");
	struct span name = word_text(c, exports), sign = word_text(c, exports + 1);
	struct span value =
		sign.length > 1 ? span_from(sign, sign.text + 1) : word_text(c, exports + 2);

	if (!shell_tracked(sh, name) || !span_starts(sign, "="))
		return false;
	shell_report(sh, FINDING_NO_ASSIGNMENT, c->words[exports ? 2 : 0].at, NULL,
		     WRITE_IT("export ", name, value), "with a blank beside = %s %s%s",
		     exports ? "export takes" : "the shell looks for a command named",
		     QUOTE(exports ? sign : name), exports ? " for a name" : "");
	return true;
}

/* NAME=0, 1 python ...: the blank ends the value. */
static bool parted_list(struct shell *sh, struct command *c)
{
	const struct prefix *p = c->prefix_count ? &c->prefixes[c->prefix_count - 1] : NULL;
	char room[100];

	if (!p || p->argument || !span_is(p->name, tracked_name(TRACKED_LIST)) ||
	    !is_list_piece(word_text(c, 0)))
		return false;
	shell_report(sh, FINDING_NO_ASSIGNMENT, c->words[0].at, NULL,
		     WRITE_IT("", p->name, whole_list(c, p->set.value, 0, room)),
		     "the blank ends the list: the shell looks for a command named %s",
		     QUOTE(word_text(c, 0)));
	return true;
}

static bool set_or_setenv(struct shell *sh, struct command *c)
{
	struct span name = {word_text(c, 1).text, shell_name(word_text(c, 1))};
	struct span value = span_from(word_text(c, 1), name.text + name.length);

	if (!shell_tracked(sh, name) || c->prefix_count)
		return false;
	if (span_is(word_text(c, 0), "set") && span_starts(value, "=")) {
		value = span_from(value, value.text + 1);
		shell_report(sh, FINDING_NO_ASSIGNMENT, c->words[0].at, NULL,
			     WRITE_IT("export ", name, value),
			     "set does not set %s: it makes the text the script's first argument",
			     QUOTE(name));
		return true;
	}
	if (!span_is(word_text(c, 0), "setenv") || shell_var(sh, word_text(c, 0))->function)
		return false;
	shell_report(sh, FINDING_NO_ASSIGNMENT, c->words[0].at, NULL,
		     WRITE_IT("export ", name, word_text(c, 2)),
		     "setenv is a command of csh: %s is not set here", QUOTE(name));
	return true;
}

static void report_export(struct shell *sh, struct command *c, const struct prefix *p)
{
	struct span s = word_text(c, 1);
	char room[100];

	if (is_list_piece(s))
		shell_report(sh, FINDING_NO_ASSIGNMENT, c->words[1].at, NULL,
			     WRITE_IT("export ", p->name, whole_list(c, p->set.value, 1, room)),
			     "the blank ends the list: export takes %s for a name", QUOTE(s));
	else
		shell_report(sh, FINDING_NO_ASSIGNMENT, c->words[1].at, NULL,
			     "put && or a new line between, or leave out export",
			     "export starts no program: it takes %s for a name", QUOTE(s));
}

/* export NAME=0, 1, export NAME=0 python train.py */
static bool export_mistake(struct shell *sh, struct command *c)
{
	const struct prefix *p = c->prefix_count ? &c->prefixes[0] : NULL;
	struct span first = word_text(c, 1);

	if (!span_is(word_text(c, 0), "export") || !p || !p->argument ||
	    !shell_tracked(sh, p->name) || c->count < 2 || c->words[1].loose ||
	    !span_known(first) || span_starts(first, "-"))
		return false;
	/* Names may follow; a program and its arguments are more than names. */
	if (shell_name(first) == first.length && !is_python(first))
		return false;
	report_export(sh, c, p);
	return true;
}

/* The line before the one that begins at `at`. */
static struct span line_before(const struct shell *sh, const char *at)
{
	const char *start = sh->text.text, *end = at > start ? at - 1 : start;
	const char *newline = end > start ? memrchr(start, '\n', (size_t)(end - start)) : NULL;

	start = newline ? newline + 1 : start;
	return (struct span){start, (size_t)(end - start)};
}

static void report_broken(struct shell *sh, const struct command *c, struct span before)
{
	struct place at = c->words[0].at;
	struct span trimmed = span_trim(before);
	const char *why = "does not end with a backslash";
	const char *fix = "end it with a backslash, and nothing behind that";

	if (trimmed.length && *trimmed.text == '#') {
		why = "is a comment, which ends the command";
		fix = "move the comment before the command";
	} else if (!trimmed.length) {
		why = "is empty, which ends the command";
		fix = "remove it";
	} else if (trimmed.text[trimmed.length - 1] == '\\') {
		why = "has a blank behind its backslash";
		fix = "remove the blank";
	}
	shell_report(sh, FINDING_NOT_CONTINUED, at, NULL, fix,
		     "the shell looks for a command named %s: line %d %s", QUOTE(word_text(c, 0)),
		     at.line - 1, why);
}

/* A line that begins with an option: the command of the line before has ended. */
static bool not_continued(struct shell *sh, struct command *c)
{
	const char *at = c->begin, *start = sh->text.text;
	bool again = sh->broken;

	sh->broken = false;
	if (!at || c->words[0].at.line < 2 || c->prefix_count || *at != '-' ||
	    word_text(c, 0).length < 2 ||
	    !memchr("-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", at[1], 53))
		return false;
	while (at > start && (at[-1] == ' ' || at[-1] == '\t'))
		at--;
	if (at == start || at[-1] != '\n')
		return false;
	sh->broken = true;
	/* Once for all lines that follow. Lines with \r have a finding of their own. */
	if (!again && !(at - 1 > start && at[-2] == '\r'))
		report_broken(sh, c, line_before(sh, at));
	return true;
}

bool shell_mistake(struct shell *sh, struct command *c)
{
	return not_continued(sh, c) || with_blanks(sh, c) || parted_list(sh, c) ||
	       set_or_setenv(sh, c) || export_mistake(sh, c);
}
