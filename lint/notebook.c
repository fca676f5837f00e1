/* SPDX-License-Identifier: MIT */
/* Findings in notebooks. The cells are one program, in the order of the file. People may run them
 * in another order, so a finding that needs more than its own cell is not certain. */
#include "lint/notebook.h"

#include <stdlib.h>
#include <string.h>

#include "lint/files.h"
#include "lint/ignore.h"
#include "lint/python.h"
#include "lint/shell.h"
#include "memory.h"
#include "report/report.h"

enum { MAX_IMPORTS = 4096 /* bytes */ };

/* A text that is read, whose first line is line `first` of the notebook. */
struct part {
	struct span text;
	size_t first;
	int before; /* lines of the text that stand before that */
	int shift;  /* of its first line, in scripts */
	bool script;
};

struct reading {
	const struct seen_file *file;
	struct notebook notebook;
	gpumap_report *ret;    /* with places in the file */
	struct strbuf imports; /* of all cells: without them a cell means nothing */
	int import_count;
	gpumap_report **alone; /* what each cell has by itself; NULL: it was not read */
	struct lint_started started;
};

/* --- places ------------------------------------------------------------------------------ */

static const struct notebook_line *line_of(struct reading *r, const struct part *part, int64_t line)
{
	int64_t i = (int64_t)part->first + line - part->before - 1;

	return line > part->before && i < (int64_t)r->notebook.line_count ? &r->notebook.lines[i]
									  : NULL;
}

static int column_of(struct reading *r, const struct part *part, const struct notebook_line *line,
		     int64_t column)
{
	int shift = !part->script                             ? line->shift
		    : line == &r->notebook.lines[part->first] ? part->shift
							      : 0;

	if (column <= 0)
		return 0;
	return notebook_column(&r->notebook, line,
			       shift == NOTEBOOK_REPLACED ? 0 : (size_t)(column - 1 + shift));
}

/* A text whose lines ("line 3", "lines 3") are those of the part. */
static void put_text(struct strbuf *buf, struct reading *r, const struct part *part,
		     const char *text, const struct notebook_line *at)
{
	static const char word[] = "line ";
	const char *found;

	while ((found = strstr(text, word))) {
		const char *number = found + strlen(word);
		size_t digits = span_digits(span_of(number));
		const struct notebook_line *line =
			line_of(r, part, span_number((struct span){number, digits}, INT32_MAX));

		strbuf_add(buf, text, (size_t)(number - text));
		if (line)
			strbuf_printf(buf, "%d", line->number);
		else
			strbuf_add(buf, number, digits);
		if (line && at && line->cell != at->cell)
			strbuf_printf(buf, " of cell %d", line->cell);
		text = number + digits;
	}
	strbuf_puts(buf, text);
}

/* Gives the programs that a part starts their lines in the file, from `first` on. */
static void place_started(struct reading *r, const struct part *part, size_t first)
{
	for (size_t i = first; i < r->started.count; i++) {
		struct lint_start *s = &r->started.starts[i];
		const struct notebook_line *line = line_of(r, part, s->line);
		const struct notebook_line *list = line_of(r, part, s->list_line);

		s->line = line ? line->row : 0;
		s->list_line = list ? list->row : 0;
	}
}

/* Adds a finding of a part to the notebook's. */
static void pass_on(struct reading *r, const struct part *part, const gpumap_finding *f, bool may)
{
	const struct notebook_line *line =
		line_of(r, part, gpumap_finding_int(f, GPUMAP_FINDING_LINE));
	enum finding_id id = finding_by_id(gpumap_finding_str(f, GPUMAP_FINDING_ID));
	CLEANUP(strbuf_free) struct strbuf text = {0};

	if (may && gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY) == GPUMAP_SEVERITY_ERROR)
		id = FINDING_CELL_ORDER;
	if (line)
		strbuf_printf(&text, "cell %d, line %d: ", line->cell, line->number);
	put_text(&text, r, part, gpumap_finding_str(f, GPUMAP_FINDING_TEXT), line);
	strbuf_puts(&text, may ? "; this may differ if the cells run in another order" : "");
	report_add(r->ret, id,
		   ABOUT(.rule = gpumap_finding_str(f, GPUMAP_FINDING_RULE),
			 .origin = r->file->path, .fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX),
			 .line = line ? line->row : 0,
			 .column = line ? column_of(r, part, line,
						    gpumap_finding_int(f, GPUMAP_FINDING_COLUMN))
					: 0),
		   "%s", text.text);
}

/* Reports comments that hide nothing. */
static void pass_ignores(struct reading *r, const struct part *part, const struct ignores *ignores)
{
	OWNED(report) *report = new_report();

	ignores_report(ignores, r->file->path, JOB_UNKNOWN, report);
	for (size_t i = 0; i < gpumap_report_count(report); i++)
		pass_on(r, part, gpumap_report_get(report, i), false);
}

/* --- a cell by itself -------------------------------------------------------------------- */

/* The end of the line that begins at `from`, with its break. */
static size_t line_end(const struct strbuf *text, size_t from)
{
	const char *end = memchr(text->text + from, '\n', text->length - from);

	return end ? (size_t)(end - text->text) + 1 : text->length;
}

static struct span program_line(const struct notebook *nb, size_t i)
{
	size_t from = nb->lines[i].program;

	return (struct span){nb->program.text + from, line_end(&nb->program, from) - from};
}

static void find_imports(struct reading *r)
{
	const struct notebook *nb = &r->notebook;

	for (size_t i = 0; i < nb->line_count; i++) {
		struct span line = program_line(nb, i);

		if (nb->lines[i].shift != 0 || r->imports.length + line.length > MAX_IMPORTS ||
		    memchr(line.text, '(', line.length) || memchr(line.text, '\\', line.length) ||
		    !(span_starts(line, "import ") || span_starts(line, "from ")))
			continue;
		strbuf_add(&r->imports, line.text, line.length);
		r->import_count++;
	}
}

/* What is found if the cell runs without the others. */
static gpumap_report *read_alone(struct reading *r, const struct notebook_cell *cell)
{
	const struct python_start start = python_start_unknown();
	gpumap_report *report = new_report();
	CLEANUP(strbuf_free) struct strbuf buf = {0};

	strbuf_add(&buf, r->imports.text, r->imports.length);
	for (size_t i = 0; i < cell->count; i++) {
		struct span line = program_line(&r->notebook, cell->first + i);

		strbuf_add(&buf, line.text, line.length);
	}
	lint_python((struct span){buf.text, buf.length}, r->file->path, &start, report);
	return report;
}

static const gpumap_finding *same_finding(const gpumap_report *report, const gpumap_finding *f,
					  int64_t line)
{
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *other = gpumap_report_get(report, i);

		if (gpumap_finding_int(other, GPUMAP_FINDING_LINE) == line &&
		    gpumap_finding_int(other, GPUMAP_FINDING_COLUMN) ==
			    gpumap_finding_int(f, GPUMAP_FINDING_COLUMN) &&
		    streq(gpumap_finding_str(other, GPUMAP_FINDING_ID),
			  gpumap_finding_str(f, GPUMAP_FINDING_ID)))
			return other;
	}
	return NULL;
}

/* The cell that has the line; NULL: none. */
static const struct notebook_cell *cell_of(const struct notebook *nb, int64_t line)
{
	size_t i = FIRST_PLACE(n, nb->cell_count,
			       (int64_t)(nb->cells[n].first + nb->cells[n].count) < line);

	return line > 0 && i < nb->cell_count ? &nb->cells[i] : NULL;
}

/* --- the program ------------------------------------------------------------------------- */

/* Advice about the command or launcher that starts a program, which a notebook has not. */
static bool is_about_command(const gpumap_finding *f)
{
	return finding_is(f, FINDING_CODE_REPLACES) || finding_is(f, FINDING_CODE_MAY_REPLACE) ||
	       finding_is(f, FINDING_CODE_SETS_RANK);
}

/* Passes on a finding of the whole program: as it is, if its cell has it by itself too. */
static void judge_finding(struct reading *r, const struct part *whole, const gpumap_finding *f)
{
	int64_t line = gpumap_finding_int(f, GPUMAP_FINDING_LINE);
	const struct notebook_cell *cell = cell_of(&r->notebook, line);
	struct part part = {.before = r->import_count};
	const gpumap_finding *own = NULL;

	if (cell) {
		gpumap_report **alone = &r->alone[cell - r->notebook.cells];

		if (!*alone)
			*alone = read_alone(r, cell);
		part.first = cell->first;
		own = same_finding(*alone, f, line - (int64_t)cell->first + part.before);
	}
	pass_on(r, own ? &part : whole, own ? own : f, cell && !own);
}

static void report_broken(struct reading *r)
{
	const struct notebook *nb = &r->notebook;

	for (size_t i = 0; i < nb->cell_count; i++) {
		const struct notebook_line *line = &nb->lines[nb->cells[i].first];

		if (nb->cells[i].broken)
			report_add(r->ret, FINDING_NOT_PYTHON,
				   ABOUT(.origin = r->file->path, .line = line->row,
					 .column = line->column,
					 .fix = "close it: Python refuses the cell"),
				   "cell %d: a string or bracket is not closed: the cell is not "
				   "read",
				   line->cell);
	}
}

static void read_program(struct reading *r)
{
	struct python_start start = python_start_unknown();
	const struct part whole = {.text = {r->notebook.program.text, r->notebook.program.length}};
	CLEANUP(ignores_free) struct ignores ignores = {.count = 0};
	OWNED(report) *report = new_report();

	start.started = &r->started;
	find_imports(r);
	r->alone = xcalloc(r->notebook.cell_count, sizeof(*r->alone));
	ignores_read(&ignores, whole.text, LINT_PYTHON);
	lint_python(whole.text, r->file->path, &start, report);
	place_started(r, &whole, 0);
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);

		if (!is_about_command(f) && !ignores_hide(&ignores, f))
			judge_finding(r, &whole, f);
	}
	pass_ignores(r, &whole, &ignores);
	for (size_t i = 0; i < r->notebook.cell_count; i++)
		gpumap_report_free(r->alone[i]);
	free(r->alone);
	strbuf_free(&r->imports);
}

/* "!export NAME=VALUE": the shell that sets the variable ends with the line. */
static void judge_export(struct reading *r, const struct part *part)
{
	const struct notebook_line *line = &r->notebook.lines[part->first];
	struct span text = span_trim(part->text);

	if (span_skip(&text, "export ") &&
	    span_starts_any(text, "CUDA_VISIBLE_DEVICES= CUDA_DEVICE_ORDER=") &&
	    span_before(text, ";&|\n#") == text.length)
		report_add(
			r->ret, FINDING_LOST_VARIABLE,
			ABOUT(.origin = r->file->path, .line = line->row,
			      .column = notebook_column(&r->notebook, line, 0),
			      .fix = "write %env NAME=VALUE, before the first cell that uses CUDA"),
			"cell %d, line %d: this has no effect: the shell that sets the variable "
			"ends with the line",
			line->cell, line->number);
}

static void read_script(struct reading *r, const struct notebook_script *script)
{
	const struct part part = {
		.text = {r->notebook.scripts.text + script->from, script->length},
		.first = script->first,
		.shift = script->shift,
		.script = true,
	};
	CLEANUP(ignores_free) struct ignores ignores = {.count = 0};
	OWNED(report) *report = new_report();
	size_t before = r->started.count;

	ignores_read(&ignores, part.text, LINT_SHELL);
	/* One that is too deeply nested is reported, and no reason to stop. */
	lint_shell(part.text, r->file->path, -1, &r->started, report);
	place_started(r, &part, before);
	judge_export(r, &part);
	for (size_t i = 0; i < gpumap_report_count(report); i++)
		if (!ignores_hide(&ignores, gpumap_report_get(report, i)))
			pass_on(r, &part, gpumap_report_get(report, i), false);
	pass_ignores(r, &part, &ignores);
}

/* --- the whole --------------------------------------------------------------------------- */

static bool is_python(struct span language)
{
	return !language.text || span_among(language, "python ipython python2 python3");
}

static void read_cells(struct reading *r)
{
	if (!is_python(r->notebook.language)) {
		report_add(r->ret, FINDING_OTHER_LANGUAGE, ABOUT(.origin = r->file->path),
			   "the notebook is skipped: its language is '%s', not Python",
			   QUOTE(r->notebook.language));
		return;
	}
	notebook_translate(&r->notebook);
	report_broken(r);
	if (r->notebook.program.length)
		read_program(r);
	for (size_t i = 0; i < r->notebook.script_count; i++)
		read_script(r, &r->notebook.script_list[i]);
}

static void read_notebook(struct reading *r, struct span text)
{
	int row, code = notebook_read(&r->notebook, text, &row);

	if (code == GPUMAP_EINPUT)
		report_add(r->ret, FINDING_SYNTAX,
			   ABOUT(.origin = r->file->path, .line = row,
				 .fix = "open it in Jupyter, and save it anew"),
			   "the notebook cannot be read: this is not the JSON of one");
	else if (code == GPUMAP_ELIMIT)
		report_add(r->ret, FINDING_LIMIT, ABOUT(.origin = r->file->path),
			   "the notebook cannot be read: it has more than 1048576 lines of code");
	else
		read_cells(r);
}

void lint_notebook(const struct lint *lint, struct span text, struct seen_file *file)
{
	OWNED(report) *report = new_report();
	struct reading r = {.file = file, .ret = report};

	read_notebook(&r, text);
	seen_relay(lint, file, report, false);
	lint_programs(lint, &r.started, file);
	lint_started_free(&r.started);
	notebook_free(&r.notebook);
}
