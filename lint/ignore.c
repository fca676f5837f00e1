/* SPDX-License-Identifier: MIT */
/* See ignore.h. */
#include "lint/ignore.h"

#include <stdlib.h>
#include <strings.h>

#include "lint/python_text.h"
#include "lint/shell_lex.h"
#include "report/report.h"

enum { MAX_LOOK = 400 };

static const char mark[] = "gpumap:", noqa[] = "noqa";

/* --- finding the comments --------------------------------------------------------------- */

/* The length of an id at the beginning of a text: GM007; 0: there is none. */
static size_t id_length(struct span text)
{
	size_t n = 2;

	if (text.length < 3 || strncasecmp(text.text, "GM", 2) != 0)
		return 0;
	n += span_digits(span_from(text, text.text + n));
	return n > 2 && (n == text.length || !(is_letter(text.text[n]) || text.text[n] == '_')) ? n
												: 0;
}

/* Skips an id with the blanks and commas after it; 0: there is none, else its length. */
static size_t next_id(struct span *text)
{
	size_t length = id_length(*text), n = length;

	while (n && n < text->length && (is_space(text->text[n]) || text->text[n] == ','))
		n++;
	*text = span_from(*text, text->text + n);
	return length;
}

/* Takes the ids at the beginning of a text: GM007, GM220 */
static struct span take_ids(struct span *text)
{
	struct span ids = {text->text, 0};

	for (const char *at = text->text;; at = text->text) {
		size_t length = next_id(text);

		if (!length)
			return ids;
		ids.length = (size_t)(at - ids.text) + length;
	}
}

/* The first word of a text, up to a blank or a sign that separates or ends a list; a backtick ends
 * the comment. */
static struct span first_word(struct span text)
{
	size_t n = 0;

	while (n < text.length && !is_space(text.text[n]) && !strchr(",#])`", text.text[n]))
		n++;
	return (struct span){text.text, n};
}

/* Whether a word is meant as an id, but is not: GM01S, GM-7, GMO07. */
static bool is_wrong_id(struct span word)
{
	return span_before(word, "0123456789") < word.length && word.length > 2 &&
	       strncasecmp(word.text, "GM", 2) == 0 && !id_length(word);
}

/* What follows the word: =GM007,GM220 [GM007] GM007, or the reason. */
static void read_ids(struct ignore *ret, struct span rest)
{
	char sign = rest.length ? *rest.text : ' ';
	struct span text = span_trim(rest), word = text;

	if (text.length && strchr("=[(:,", *text.text)) {
		sign = *text.text;
		text = span_trim(span_from(text, text.text + 1));
	}
	ret->ids = take_ids(&text);
	text = first_word(text);
	ret->odd = is_wrong_id(text);
	if (ret->ids.length && !ret->odd)
		return;
	/* Not the reason of one that hides everything. */
	ret->odd |= !is_space(sign) && !strchr(":(#`,", sign);
	ret->ids = ret->odd ? text : NO_SPAN;
	if (ret->odd && !text.length && span_split(&word, ' ', &text))
		ret->ids = text;
}

/* Skips a word at the beginning of the text. */
static bool skip_word(struct span *text, const char *word)
{
	if (!span_skip(text, word))
		return false;
	return !text->length || !(is_alphanumeric(*text->text) || *text->text == '_');
}

/* The comment whose mark `wanted` stands at `at` of a line; false: it is another text. */
static bool read_mark(struct ignore *ret, struct span line, const char *at, const char *wanted,
		      enum lint_kind kind)
{
	const char *sign = at;
	struct span rest = {at, (size_t)(line.text + line.length - at)};

	while (sign > line.text && is_space(sign[-1]))
		sign--;
	if (sign == line.text || (sign[-1] != '#' && (kind != LINT_PROFILE || sign[-1] != ';')) ||
	    !skip_word(&rest, wanted))
		return false;
	*ret = (struct ignore){.at = at, .column = (int)(sign - line.text), .noqa = wanted == noqa};
	if (ret->noqa)
		return true;
	rest = span_trim(rest);
	if (!skip_word(&rest, "ignore"))
		return false;
	read_ids(ret, rest);
	return true;
}

static void add(struct ignores *all, struct ignore ignore)
{
	if (ignore.ids.text)
		ignore.ids.text = arena_strndup(&all->arena, ignore.ids.text, ignore.ids.length);
	*ARRAY_NEXT(all->list, all->count, all->room) = ignore;
}

/* The lines of a text, as the readers of each kind count them. */
static size_t line_end(struct span text, size_t at, enum lint_kind kind)
{
	while (at < text.length && text.text[at] != '\n' &&
	       !(kind == LINT_PYTHON && text.text[at] == '\r' &&
		 (at + 1 == text.length || text.text[at + 1] != '\n')))
		at++;
	return at;
}

/* Whether a line may have what a job makes a mistake. Of a long line the end is looked at. */
static bool has_job_words(struct span line)
{
	if (line.length > MAX_LOOK)
		line = span_from(line, line.text + line.length - MAX_LOOK);
	return span_has_any(line, "cuda device gpu rank world group parallel master environ spawn");
}

/* The comments of the line, of which the first mark is at `at`; `below` is the next line. */
static void find_in_line(struct ignores *all, struct span line, struct span below, const char *at,
			 int number, const char *wanted, enum lint_kind kind)
{
	const char *end = line.text + line.length;
	bool first = true;

	while (end > at && is_space(end[-1]))
		end--;
	line.length = (size_t)(end - line.text);
	for (; at; at = memmem(at, (size_t)(end - at), wanted, strlen(wanted))) {
		struct ignore found;

		if (read_mark(&found, line, at, wanted, kind)) {
			struct span before = {line.text, (size_t)found.column - 1};

			found.line = number;
			found.alone = first && !found.noqa && !span_trim(before).length;
			found.job = first && kind == LINT_PYTHON &&
				    has_job_words(found.alone ? below : before);
			first = false;
			add(all, found);
		}
		at += strlen(wanted);
	}
}

static void find(struct ignores *all, struct span text, const char *wanted, enum lint_kind kind)
{
	const char *next = memmem(text.text, text.length, wanted, strlen(wanted));

	for (size_t at = 0, end, line = 1; next; at = end + 1, line++) {
		end = line_end(text, at, kind);
		if (next < text.text + end) {
			struct span below = {text.text + end, 0};

			below.length = line_end(text, end + (end < text.length), kind) - end;
			find_in_line(all, (struct span){text.text + at, end - at}, below, next,
				     (int)line, wanted, kind);
			next = memmem(text.text + end, text.length - end, wanted, strlen(wanted));
		}
	}
}

/* --- the lines that they are about -------------------------------------------------------- */

/* Statements in their order, and the first comment that is about none of those so far; and the
 * first that is behind the strings or comments so far. */
struct placing {
	struct ignores *all;
	size_t next, seen;
};

/* The next comment in the text before `to`; NULL: there is none. Calls must come in the order of
 * the text. */
static struct ignore *next_before(struct placing *p, const char *to)
{
	struct ignores *all = p->all;

	return p->seen < all->count && all->list[p->seen].at < to ? &all->list[p->seen++] : NULL;
}

static void mark_quoted(struct placing *p, struct span text)
{
	for (struct ignore *i; (i = next_before(p, text.text + text.length));)
		i->quoted |= i->at >= text.text;
}

static void statement(struct placing *p, int from, int to)
{
	for (; p->next < p->all->count && p->all->list[p->next].line <= to; p->next++) {
		struct ignore *i = &p->all->list[p->next];

		if (i->from || (i->line < from && !i->alone))
			continue;
		i->from = from;
		i->to = to;
	}
}

/* Statements that share a line are one. */
static void place_python(struct placing *p, struct span text)
{
	struct python_text python;
	int from = 0, to = 0;

	python_open(&python, text);
	while (p->next < p->all->count && python_next(&python)) {
		for (unsigned i = 0; i < python.count; i++) {
			const struct python_token *t = &python.tokens[i];

			if (t->kind == PYTHON_STRING || t->kind == PYTHON_FORMAT)
				mark_quoted(p, t->text);
		}
		if (from && python.tokens[0].line > to)
			statement(p, from, to);
		if (python.tokens[0].line > to)
			from = python.tokens[0].line;
		to = python.line;
	}
	if (from)
		statement(p, from, to);
	python_close(&python);
}

/* Slurm's options are comments to the shell. */
static void place_slurm(struct ignores *all, struct span text)
{
	for (size_t i = 0; i < all->count; i++) {
		struct ignore *one = &all->list[i];
		const char *past = text.text + text.length, *end;

		end = one->alone ? memchr(one->at, '\n', (size_t)(past - one->at)) : NULL;
		if (end && span_starts((struct span){end + 1, (size_t)(past - end) - 1}, "#SBATCH"))
			one->from = one->to = one->line + 1;
	}
}

/* For the lexer, text in quotes and here-documents is not a comment. What follows in a comment is
 * part of it. */
static void mark_comment(void *data, struct span comment)
{
	bool first = true;

	for (struct ignore *i; (i = next_before(data, comment.text + comment.length));) {
		if (i->at < comment.text)
			continue;
		i->quoted = !first;
		first = false;
	}
}

static void place_shell(struct placing *p, struct span text)
{
	struct lexer lx = {
		.text = text.text,
		.end = text.length,
		.line = 1,
		.comment = mark_comment,
		.data = p,
	};
	struct token t;
	int from = 0;

	for (size_t i = 0; i < p->all->count; i++)
		p->all->list[i].quoted = true;
	do {
		t = lexer_next(&lx);
		if (t.kind != TOKEN_NEWLINE && t.kind != TOKEN_END) {
			from = from ? from : t.at.line;
			continue;
		}
		if (from)
			statement(p, from, t.at.line);
		from = 0;
	} while (t.kind != TOKEN_END && p->next < p->all->count);
	/* Those behind the last command. */
	while (t.kind != TOKEN_END)
		t = lexer_next(&lx);
}

static void place_profile(struct placing *p, struct span text)
{
	struct span line;

	for (int number = 1; span_split(&text, '\n', &line); number++) {
		line = span_trim(line);
		if (line.length && *line.text != '#' && *line.text != ';')
			statement(p, number, number);
	}
}

static int compare_lines(const void *a, const void *b)
{
	const struct ignore *x = a, *y = b;

	return x->from != y->from ? x->from - y->from : x->line - y->line;
}

/* In Python and profiles a comment reaches to the end of its line, so what follows in it is part of
 * it. */
static void drop_parts(struct ignores *all)
{
	int line = 0;

	for (size_t i = 0; i < all->count; i++) {
		if (all->list[i].noqa)
			continue;
		all->list[i].quoted |= all->list[i].line == line;
		line = all->list[i].quoted ? line : all->list[i].line;
	}
}

/* A comment on a line of its own is about lines below it, perhaps below another comment, so
 * comments are sorted by these lines. */
static void sort(struct ignores *all)
{
	int reach = 0;

	qsort(all->list, all->count, sizeof(*all->list), compare_lines);
	for (size_t i = 0; i < all->count; i++) {
		reach = all->list[i].to > reach ? all->list[i].to : reach;
		all->list[i].reach = reach;
	}
}

static int compare_places(const void *a, const void *b)
{
	const struct ignore *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

void ignores_read(struct ignores *ret, struct span text, enum lint_kind kind)
{
	struct placing p = {.all = ret};

	if (text.length)
		find(ret, text, mark, kind);
	if (text.length && kind == LINT_PYTHON)
		find(ret, text, noqa, kind);
	if (!ret->count)
		return;
	qsort(ret->list, ret->count, sizeof(*ret->list), compare_places);
	if (kind == LINT_PYTHON) {
		place_python(&p, text);
	} else if (kind == LINT_SHELL) {
		place_slurm(ret, text);
		place_shell(&p, text);
	} else {
		place_profile(&p, text);
	}
	for (size_t i = 0; i < ret->count; i++) {
		struct ignore *one = &ret->list[i];

		/* Alone, with no statement behind it, it is about nothing. */
		if (!one->from) {
			one->from = one->line + one->alone;
			one->to = one->line;
		}
		one->at = NULL;
	}
	if (kind != LINT_SHELL)
		drop_parts(ret);
	sort(ret);
}

void ignores_free(struct ignores *ignores)
{
	free(ignores->list);
	arena_free(&ignores->arena);
}

/* --- using them --------------------------------------------------------------------------- */

static bool names(struct span ids, const char *id)
{
	for (const char *at = ids.text;; at = ids.text) {
		size_t n = next_id(&ids);

		if (!n || (n == strlen(id) && strncasecmp(at, id, n) == 0))
			return n;
	}
}

/* A finding that a file cannot be understood is never hidden. */
static bool can_hide(const gpumap_finding *finding)
{
	return !finding_is(finding, FINDING_SYNTAX) && !finding_is(finding, FINDING_UNCLOSED) &&
	       !finding_is(finding, FINDING_NOT_PYTHON);
}

bool ignores_hide(struct ignores *ignores, const gpumap_finding *finding)
{
	int64_t line = gpumap_finding_int(finding, GPUMAP_FINDING_LINE);
	const char *id = gpumap_finding_str(finding, GPUMAP_FINDING_ID);
	size_t first, begin;
	bool hidden = false;

	if (!can_hide(finding))
		return false;
	/* The first with which one reaches the line. */
	first = begin = FIRST_PLACE(i, ignores->count, ignores->list[i].reach < line);
	for (; line > 0 && first < ignores->count && ignores->list[first].from <= line; first++) {
		struct ignore *one = &ignores->list[first];

		if (one->noqa || one->quoted || one->odd || line > one->to ||
		    (one->ids.text && !names(one->ids, id)))
			continue;
		one->used = hidden = true;
	}
	for (; line > 0 && !hidden && begin < first; begin++)
		ignores->list[begin].used |=
			ignores->list[begin].noqa && line <= ignores->list[begin].to;
	return hidden;
}

/* Findings that depend on the list, the ranks or the launcher of a program. */
static const enum finding_id of_job[] = {FINDING_INVALID_ORDINAL,    FINDING_NO_DEVICE,
					 FINDING_ONE_DEVICE,         FINDING_WAITS,
					 FINDING_MAY_WAIT,           FINDING_LOCAL_AS_RANK,
					 FINDING_NO_MEETING,         FINDING_COPIES,
					 FINDING_AGAINST_PLAN,       FINDING_OTHER_PORT,
					 FINDING_MAY_NOT_MEET,       FINDING_FIXED_PORT,
					 FINDING_OTHER_LAUNCHER,     FINDING_GLOBAL_RANK,
					 FINDING_RANK_MODULO,        FINDING_CODE_SETS_RANK,
					 FINDING_CODE_REPLACES,      FINDING_CODE_MAY_REPLACE,
					 FINDING_LOCAL_RANK_ARGUMENT};

/* Whether the comment may hide what the job would show. */
static bool may_hide(const struct ignore *one, enum job_known job)
{
	if (one->odd || job == JOB_KNOWN)
		return false;
	if (!one->ids.text)
		return job == JOB_UNKNOWN && one->job;
	for (size_t i = 0; i < ARRAY_SIZE(of_job); i++)
		if (names(one->ids,
			  gpumap_finding_str(gpumap_finding_get(of_job[i]), GPUMAP_FINDING_ID)))
			return true;
	return false;
}

void ignores_report(const struct ignores *ignores, const char *origin, enum job_known job,
		    gpumap_report *report)
{
	bool told = false;

	for (size_t i = 0; i < ignores->count; i++) {
		const struct ignore *one = &ignores->list[i];

		if (one->noqa && one->used && !one->quoted && !told) {
			told = true;
			report_add(report, FINDING_FOREIGN_IGNORE,
				   ABOUT(.origin = origin, .line = one->line, .column = one->column,
					 .fix = "write # gpumap: ignore=GM..., with the id of the "
						"finding"),
				   "# noqa has no effect on gpumap lint");
		}
		if (one->noqa || one->used || one->quoted || may_hide(one, job))
			continue;
		if (one->odd) {
			report_add(report, FINDING_UNUSED_IGNORE,
				   ABOUT(.origin = origin, .line = one->line, .column = one->column,
					 .fix = "write # gpumap: ignore, or ignore=GM007,GM220"),
				   "this ignores nothing: '%s' is not a list of ids",
				   QUOTE(one->ids));
			continue;
		}
		report_add(report, FINDING_UNUSED_IGNORE,
			   ABOUT(.origin = origin, .line = one->line, .column = one->column,
				 .fix = "remove the comment"),
			   "there is no finding here for it to ignore%s%s",
			   one->ids.text ? ": " : "", one->ids.text ? QUOTE(one->ids) : "");
	}
}
