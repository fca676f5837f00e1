/* SPDX-License-Identifier: MIT */
/* Commands that a program starts, by os.system() and subprocess: they are read as scripts are. */
#include "lint/python_file.h"

#include "lint/shell.h"
#include "memory.h"
#include "strbuf.h"
#include "text/words.h"

/* --- the text of a command -------------------------------------------------------------- */

/* The text of f"...", in which a value is a variable that the shell does not know. */
static void add_format(struct strbuf *buf, struct span text)
{
	int depth = 0;

	for (size_t i = 0; i < text.length; i++) {
		char c = text.text[i];
		bool twice = i + 1 < text.length && text.text[i + 1] == c;

		if (!depth && (c == '{' || c == '}') && twice) {
			strbuf_add(buf, &c, 1);
			i++;
		} else if (c == '{') {
			strbuf_puts(buf, depth++ ? "" : "${UNKNOWN}");
		} else if (c == '}') {
			depth -= depth > 0;
		} else if (!depth) {
			strbuf_add(buf, &c, 1);
		}
	}
}

static void add_quoted(struct strbuf *buf, struct span word)
{
	CLEANUP_FREE char *copy = xstrndup(word.text, word.length);

	words_quote(buf, copy);
}

/* ["torchrun", "a.py"]: words that are all known. */
static bool add_words(struct strbuf *buf, const struct python_file *f, unsigned open)
{
	struct python_argument word;
	unsigned at = open + 1;

	while (python_argument(f, open, &at, &word)) {
		struct python_value v = python_value(f, word.first, word.past);

		/* sys.executable is the Python that runs this. */
		if (word.past == word.first + 3 && is_at(f, word.first, word.past, "sys") &&
		    is_at(f, word.first + 2, word.past, "executable")) {
			strbuf_puts(buf, "python3 ");
			continue;
		}
		if (v.unsure ||
		    (v.meaning != MEANS_TEXT && v.meaning != MEANS_CPU && v.meaning != MEANS_CUDA &&
		     v.meaning != MEANS_DEVICE) ||
		    !v.text.text)
			return false;
		add_quoted(buf, v.text);
		strbuf_puts(buf, " ");
	}
	return true;
}

/* The list that the command gets in env=; false: which list it gets is not known. */
static bool environment(const struct python_file *f, const struct python_argument *env,
			struct span *list)
{
	for (unsigned i = env->first; i < env->past; i++) {
		struct python_value v;

		if (!span_is(token_at(f, i)->text, "CUDA_VISIBLE_DEVICES") ||
		    (!is_at(f, i + 1, env->past, ":") && !is_at(f, i + 1, env->past, "=")))
			continue;
		v = python_value(f, i + 2, python_value_end(f, i + 2, env->past));
		*list = v.text;
		return v.meaning == MEANS_TEXT && !v.unsure;
	}
	return false;
}

enum { MAX_LINES = 10000 };

/* What the command begins with: the list of env=, else the one that this program has, in the line
 * that sets it. Returns the line in which the text begins. */
static int add_list(struct strbuf *buf, const struct python_file *f, unsigned open,
		    const struct observation *s)
{
	struct python_argument env;
	struct span list = {NULL, 0};
	bool given = python_argument_find(f, open, "env", -1, &env);
	int line = s->line;

	if (given ? !environment(f, &env, &list) : s->listed && !s->list) {
		strbuf_puts(buf, "export CUDA_VISIBLE_DEVICES=$UNKNOWN; ");
		return line;
	}
	if (!given && s->list && s->line - f->observations[s->lister - 1].line < MAX_LINES) {
		list = span_of(s->list);
		line = f->observations[s->lister - 1].line;
	}
	if (!list.text)
		return line;
	strbuf_puts(buf, "export CUDA_VISIBLE_DEVICES=");
	add_quoted(buf, list);
	strbuf_puts(buf, "; ");
	for (int i = line; i < s->line; i++)
		strbuf_puts(buf, "\n");
	return line;
}

void python_command(struct python_file *f, unsigned open)
{
	struct python_argument a;
	CLEANUP(strbuf_free) struct strbuf buf = {0};
	struct observation *s;
	unsigned at = open + 1;
	const struct python_token *t;
	bool known;

	if (!python_argument(f, open, &at, &a) || (a.name.text && !span_is(a.name, "args")) ||
	    python_has_argument(f, open, "cwd", -1))
		return;
	t = token_at(f, a.first);
	s = observation_add(f, OBSERVED_COMMAND, t);
	s->value.number = add_list(&buf, f, open, s); /* the line of the text */
	if (is_bracket(f, a.first, a.past, "[")) {
		known = add_words(&buf, f, a.first);
	} else if (t->kind == PYTHON_FORMAT && a.past == a.first + 1) {
		known = t->plain;
		add_format(&buf, t->text);
	} else {
		struct python_value v = python_value(f, a.first, a.past);

		known = v.meaning == MEANS_TEXT && !v.unsure &&
			!python_has_argument(f, open, "executable", -1);
		strbuf_add(&buf, v.text.text ? v.text.text : "", v.text.length);
	}
	if (known && buf.length) {
		s->value.text.length = buf.length;
		s->value.text.text = strbuf_keep(&buf, &f->arena);
	}
}

/* --- its findings --------------------------------------------------------------------------- */

/* Findings about the end of a script, which a command is not. */
static bool is_about_end(const gpumap_finding *f)
{
	return finding_is(f, FINDING_NO_WAIT) || finding_is(f, FINDING_UNLIMITED_JOBS) ||
	       finding_is(f, FINDING_SET_TOO_LATE) || finding_is(f, FINDING_OVERWRITTEN) ||
	       finding_is(f, FINDING_NOT_EXPORTED);
}

/* The findings of the reader of scripts. */
void judge_command(const struct python_judge *judge, const struct observation *s)
{
	struct lint_started *started = judge->start ? judge->start->started : NULL;
	OWNED(report) *found = new_report();

	if (!s->value.text.text)
		return;
	lint_shell_from(s->value.text, judge->origin, (int)s->value.number, started, found);
	for (size_t i = 0; i < gpumap_report_count(found); i++) {
		const gpumap_finding *f = gpumap_report_get(found, i);

		if (!is_about_end(f))
			report_relay(judge->report, f, AT(judge, s, .fix = NULL));
	}
}
