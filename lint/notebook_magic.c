/* SPDX-License-Identifier: MIT */
/* What IPython reads before Python does: %magic, !command, %%magic of a cell, help by ?. */
#include "lint/notebook.h"

#include <string.h>

#include "gpumap.h"

/* Where the text of a cell ends: in strings, brackets, or a joined line. */
struct state {
	char quote;
	bool triple, joined;
	size_t depth;
};

/* What becomes of the lines of a cell. */
enum cell_kind { CELL_PYTHON, CELL_SHELL, CELL_OTHER };

static bool is_clean(const struct state *s)
{
	return !s->quote && !s->depth && !s->joined;
}

static bool is_triple(struct span line, size_t i, char quote)
{
	return i + 2 < line.length && line.text[i + 1] == quote && line.text[i + 2] == quote;
}

/* A character of a string; returns the place after it. */
static size_t scan_quoted(struct state *s, struct span line, size_t i)
{
	char c = line.text[i];

	if (c == '\\')
		return i + 2;
	if (c != s->quote || (s->triple && !is_triple(line, i, c)))
		return i + 1;
	s->quote = '\0';
	return i + (s->triple ? 3 : 1);
}

/* `line` is without its break. */
static void scan_line(struct state *s, struct span line)
{
	size_t i = 0;

	s->joined = false;
	while (i < line.length) {
		char c = line.text[i];

		if (s->quote) {
			i = scan_quoted(s, line, i);
			continue;
		}
		if (c == '#')
			return;
		if (c == '"' || c == '\'') {
			s->quote = c;
			s->triple = is_triple(line, i, c);
			i += s->triple ? 2 : 0;
		}
		if (strchr("([{", c) && c)
			s->depth++;
		if (strchr(")]}", c) && c && s->depth)
			s->depth--;
		s->joined = c == '\\' && i + 1 == line.length;
		i++;
	}
	/* A short string ends with its line, unless a backslash joins the next. */
	if (s->quote && !s->triple && i == line.length)
		s->quote = '\0';
}

static struct span line_text(const struct notebook *nb, size_t i)
{
	size_t past = i + 1 < nb->line_count ? nb->lines[i + 1].from : nb->source.length;

	return (struct span){nb->source.text + nb->lines[i].from, past - nb->lines[i].from - 1};
}

static struct span past(struct span s, size_t n)
{
	return span_from(s, s.text + (n < s.length ? n : s.length));
}

static size_t indent_of(struct span line)
{
	size_t n = 0;

	while (n < line.length && (line.text[n] == ' ' || line.text[n] == '\t'))
		n++;
	return n;
}

static void put_span(struct strbuf *buf, struct span s)
{
	strbuf_add(buf, s.text, s.length);
}

/* The first word, and what follows it. */
static struct span take_word(struct span *rest)
{
	struct span word = {rest->text, span_before(*rest, " \t\n\v\f\r")};

	*rest = span_trim(past(*rest, word.length));
	return word;
}

/* --- scripts ----------------------------------------------------------------------------- */

/* A script of the lines; the first begins at `first`. */
static void add_script(struct notebook *nb, size_t line, size_t count, struct span first)
{
	struct strbuf *buf = &nb->scripts;
	size_t from = buf->length;

	for (size_t i = 0; i < count; i++) {
		put_span(buf, i ? line_text(nb, line + i) : first);
		strbuf_puts(buf, "\n");
	}
	*ARRAY_NEXT(nb->script_list, nb->script_count, nb->script_room) =
		(struct notebook_script){.first = line,
					 .count = count,
					 .from = from,
					 .length = buf->length - from,
					 .shift = (int)(first.text - line_text(nb, line).text)};
}

/* IPython replaces {name} by what Python has. */
static bool has_braces(struct span text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.text[i] == '{' && (!i || text.text[i - 1] != '$'))
			return true;
	return false;
}

/* --- lines ------------------------------------------------------------------------------- */

/* %env NAME=VALUE, as a statement. All that follows the sign is the value, also quotes. */
static bool put_env(struct strbuf *buf, struct span rest)
{
	const char *sign = rest.length ? memchr(rest.text, '=', rest.length) : NULL;
	struct span name, value = rest;
	char quote;

	if (sign) {
		name = span_trim(span_to(rest, sign));
		value = span_trim(span_from(rest, sign + 1));
	} else {
		name = take_word(&value);
	}
	if (!name.length || !value.length)
		return false;
	if (span_before(name, " \t\n\v\f\r\"\\${") < name.length)
		return false;
	quote = memchr(value.text, '"', value.length) ? '\'' : '"';
	strbuf_printf(buf, "import os; os.environ[\"%.*s\"] = ", (int)name.length, name.text);
	if (span_before(value, "'\\${") < value.length)
		strbuf_puts(buf, "get_ipython()");
	else
		strbuf_printf(buf, "%c%.*s%c", quote, (int)value.length, value.text, quote);
	return true;
}

/* %time STATEMENT; *shift: how far the statement moves. False: it is another magic. */
static bool put_timed(struct strbuf *buf, struct span line, struct span name, struct span rest,
		      int *shift)
{
	if (!span_among(name, "time prun memit mprun") || !rest.length || *rest.text == '-')
		return false;
	*shift = (int)(rest.text - line.text) - (int)indent_of(line);
	put_span(buf, rest);
	return true;
}

/* A line that begins with %. */
static void put_magic(struct strbuf *buf, struct span line, int *shift)
{
	struct span rest = span_trim(past(line, indent_of(line) + 1)), name = take_word(&rest);

	*shift = NOTEBOOK_REPLACED;
	if (span_is_any(name, "env set_env") && put_env(buf, rest))
		return;
	if (!put_timed(buf, line, name, rest, shift))
		strbuf_puts(buf, "pass");
}

/* The command of "x = !command", and of "x = %magic"; NULL: it is no such line. */
static const char *assigned(struct span line)
{
	for (size_t i = indent_of(line); i < line.length; i++) {
		char c = line.text[i];
		struct span rest;

		if (c == '=') {
			rest = span_trim(past(line, i + 1));
			return i && rest.length > 1 && (*rest.text == '!' || *rest.text == '%') &&
					       rest.text[1] != '='
				       ? rest.text
				       : NULL;
		}
		if (!strchr("_., \t", c) && !is_alphanumeric(c) && !(c & 0x80))
			return NULL;
	}
	return NULL;
}

/* name?, ?name, name?? */
static bool asks_help(struct span line)
{
	line = span_trim(line);
	return line.length && span_before(line, "#\"'") == line.length &&
	       (*line.text == '?' || line.text[line.length - 1] == '?');
}

/* How many lines a command has: a backslash joins the next. */
static size_t command_lines(const struct notebook *nb, size_t i, size_t past_cell)
{
	size_t count = 1;
	struct span line = line_text(nb, i);

	while (i + count < past_cell && line.length && line.text[line.length - 1] == '\\')
		line = line_text(nb, i + count++);
	return count;
}

/* !command, !!command */
static void put_command(struct notebook *nb, size_t i, size_t count, struct span command)
{
	command = past(command, 1);
	if (command.length && *command.text == '!')
		command = past(command, 1);
	for (size_t k = 0; k < count; k++)
		if (has_braces(k ? line_text(nb, i + k) : command))
			return;
	add_script(nb, i, count, command);
}

/* What IPython reads, at the beginning of a statement; returns how many lines it has, 0: none.
 * `indent` is taken off. */
static size_t put_special(struct notebook *nb, size_t i, size_t past_cell, size_t indent)
{
	struct span line = line_text(nb, i), start = past(line, indent_of(line));
	const char *command = assigned(line);
	struct strbuf *buf = &nb->program;
	size_t own = indent_of(line), count;
	int shift = NOTEBOOK_REPLACED;

	if (!start.length || (!strchr("%!", *start.text) && !command && !asks_help(line)))
		return 0;
	count = command_lines(nb, i, past_cell);
	put_span(buf, past((struct span){line.text, own}, indent));
	if (command) {
		put_span(buf, span_to(start, command));
		strbuf_puts(buf, "get_ipython()");
		start = span_from(line, command);
	} else if (*start.text == '%') {
		put_magic(buf, line, &shift);
	} else {
		strbuf_puts(buf, "pass");
	}
	if (*start.text == '!')
		put_command(nb, i, count, start);
	nb->lines[i].shift = shift == NOTEBOOK_REPLACED ? shift : shift + (int)indent;
	strbuf_puts(buf, "\n");
	return count;
}

/* --- cells ------------------------------------------------------------------------------- */

/* The kind of a cell, by the first line that counts. */
static enum cell_kind kind_of(struct span line)
{
	struct span rest = span_trim(line), name;

	if (!span_starts(rest, "%%"))
		return CELL_PYTHON;
	rest = past(rest, 2);
	name = take_word(&rest);
	if (span_among(name, "time timeit capture prun memit"))
		return CELL_PYTHON;
	if (span_is(name, "script"))
		name = take_word(&rest);
	return span_among(name, "bash sh shell") ? CELL_SHELL : CELL_OTHER;
}

/* An empty line of the program for a line. */
static void put_nothing(struct notebook *nb, size_t i)
{
	nb->lines[i].program = nb->program.length;
	nb->lines[i].shift = NOTEBOOK_REPLACED;
	strbuf_puts(&nb->program, "\n");
}

static void put_python(struct notebook *nb, struct notebook_cell *cell, size_t first, size_t indent)
{
	size_t past_cell = cell->first + cell->count, start = nb->program.length;
	struct state state = {0};

	for (size_t i = first, count; i < past_cell; i += count) {
		struct span line = line_text(nb, i);
		size_t off = indent_of(line) < indent ? indent_of(line) : indent;

		nb->lines[i].program = nb->program.length;
		nb->lines[i].shift = (int)off;
		count = is_clean(&state) ? put_special(nb, i, past_cell, off) : 0;
		for (size_t k = 1; k < count; k++)
			put_nothing(nb, i + k);
		if (count)
			continue;
		count = 1;
		put_span(&nb->program, past(line, off));
		strbuf_puts(&nb->program, "\n");
		scan_line(&state, line);
	}
	cell->broken = state.quote || state.depth;
	if (cell->broken) {
		nb->program.length = start;
		for (size_t i = first; i < past_cell; i++)
			put_nothing(nb, i);
	}
}

/* The first line of a cell that counts: blank lines do not, nor comments before its magic. */
static size_t first_line(const struct notebook *nb, const struct notebook_cell *cell)
{
	size_t past_cell = cell->first + cell->count, first = cell->first, i;

	while (first < past_cell && !span_trim(line_text(nb, first)).length)
		first++;
	for (i = first; i < past_cell; i++) {
		struct span line = span_trim(line_text(nb, i));

		if (line.length && *line.text != '#')
			return span_starts(line, "%%") ? i : first;
	}
	return first;
}

static void put_cell(struct notebook *nb, struct notebook_cell *cell)
{
	size_t first = first_line(nb, cell), past_cell = cell->first + cell->count;
	enum cell_kind kind;

	for (size_t i = cell->first; i < first; i++)
		put_nothing(nb, i);
	if (first == past_cell)
		return;
	kind = kind_of(line_text(nb, first));
	if (kind == CELL_PYTHON && span_starts(span_trim(line_text(nb, first)), "%%"))
		put_nothing(nb, first++);
	if (kind == CELL_PYTHON) {
		if (first < past_cell)
			put_python(nb, cell, first, indent_of(line_text(nb, first)));
		return;
	}
	for (size_t i = first; i < past_cell; i++)
		put_nothing(nb, i);
	first++;
	if (kind == CELL_SHELL && first < past_cell)
		add_script(nb, first, past_cell - first, line_text(nb, first));
}

void notebook_translate(struct notebook *notebook)
{
	for (size_t i = 0; i < notebook->cell_count; i++)
		put_cell(notebook, &notebook->cells[i]);
}
