/* SPDX-License-Identifier: MIT */
/*
 * Notebooks of Jupyter (.ipynb): the code of their cells, as one Python program, and the commands
 * of the shell in it.
 *
 *	JSON --> notebook_read(): lines of the cells --> notebook_translate(): program, scripts
 *
 * Each line of the program is one line of a cell, so findings can be shown where they are in the
 * file.
 */
#ifndef GM_LINT_NOTEBOOK_H
#define GM_LINT_NOTEBOOK_H

#include "strbuf.h"
#include "text.h"

/* A line of a code cell. */
struct notebook_line {
	const char *at;   /* in the file, in a string of JSON */
	int row, column;  /* of that, in the file */
	int cell, number; /* the cell, among all cells, and the line in it; from 1 */
	size_t from;      /* in notebook.source */
	size_t program;   /* in notebook.program */
	int shift;        /* how far its text was moved to the left; NOTEBOOK_REPLACED */
};
enum { NOTEBOOK_REPLACED = -1 }; /* the text of the program is not the cell's */

struct notebook_cell {
	size_t first, count; /* lines */
	bool broken;         /* a string or bracket is not closed: it is left out */
};

/* Commands of the shell that a cell runs in one process. */
struct notebook_script {
	size_t first, count; /* lines */
	size_t from, length; /* in notebook.scripts */
	int shift;           /* of the first line */
};

struct notebook {
	struct strbuf source;  /* the code cells, a line for each of `lines` */
	struct strbuf program; /* the same as Python alone */
	struct strbuf scripts; /* the commands of the shell */
	struct notebook_line *lines;
	size_t line_count, line_room;
	struct notebook_cell *cells;
	size_t cell_count, cell_room;
	struct notebook_script *script_list;
	size_t script_count, script_room;
	struct span language; /* NULL: not given */
	struct {              /* the last column that was asked for */
		const struct notebook_line *line;
		size_t byte;
		const char *at;
	} column;
	const char *end; /* of the file */
};

/* Whether a text is JSON: an object or a list. *cells: it is a notebook. */
bool notebook_recognise(struct span text, bool *cells);

/* Reads the code cells. `ret` refers to the text; free it in any case. GPUMAP_EINPUT: it is not a
 * notebook, *row is the line. GPUMAP_ELIMIT. */
int notebook_read(struct notebook *ret, struct span text, int *row);
/* Makes the program and the scripts. */
void notebook_translate(struct notebook *notebook);
void notebook_free(struct notebook *notebook);

/* The column in the file of a byte of a line, of which the first is 0. */
int notebook_column(struct notebook *notebook, const struct notebook_line *line, size_t byte);

#endif
