/* SPDX-License-Identifier: MIT */
/* The code cells of a notebook, with the places of their lines in the file, which a tree of JSON
 * would not keep. Nothing here recurses. */
#include "lint/notebook.h"

#include <stdlib.h>
#include <string.h>

#include "gpumap.h"

enum { MAX_LINES = 1 << 20 };

struct json {
	const char *at, *end;
	bool wrong;
};

/* --- JSON -------------------------------------------------------------------------------- */

static void skip_blanks(struct json *j)
{
	while (j->at < j->end && strchr(" \t\r\n", *j->at) && *j->at)
		j->at++;
}

/* Skips blanks. Whether the sign follows. */
static bool comes(struct json *j, char c)
{
	skip_blanks(j);
	return j->at < j->end && *j->at == c;
}

static bool take(struct json *j, char c)
{
	if (j->wrong || !comes(j, c))
		return false;
	j->at++;
	return true;
}

static bool fail(struct json *j)
{
	j->wrong = true;
	return false;
}

/* *ret: what is between its quotes. */
static bool read_string(struct json *j, struct span *ret)
{
	const char *start;

	if (!take(j, '"'))
		return fail(j);
	for (start = j->at; j->at < j->end && *j->at != '"'; j->at++) {
		if (*j->at == '\n')
			return fail(j);
		if (*j->at == '\\' && ++j->at == j->end)
			return fail(j);
	}
	*ret = (struct span){start, (size_t)(j->at - start)};
	return take(j, '"') || fail(j);
}

/* true, false, null or a number. */
static bool skip_word(struct json *j)
{
	const char *start = j->at;

	while (j->at < j->end && (is_digit(*j->at) || strchr("+-.aeflnrstuE", *j->at)) && *j->at)
		j->at++;
	return j->at > start || fail(j);
}

static bool skip_value(struct json *j)
{
	size_t depth = 0;
	struct span text;

	do {
		skip_blanks(j);
		if (j->at == j->end)
			return fail(j);
		if (*j->at == '"') {
			read_string(j, &text);
		} else if (*j->at == '{' || *j->at == '[') {
			depth++;
			j->at++;
		} else if (strchr("}],:", *j->at) && *j->at) {
			if (!depth)
				return fail(j);
			depth -= *j->at == '}' || *j->at == ']';
			j->at++;
		} else {
			skip_word(j);
		}
	} while (depth && !j->wrong);
	return !j->wrong;
}

/* *ret: a string. False: it is none, and is skipped, or it is malformed. */
static bool take_string(struct json *j, struct span *ret)
{
	if (comes(j, '"'))
		return read_string(j, ret);
	skip_value(j);
	return false;
}

/* The next member of a list, "[]", or an object, "{}"; *first: none was read. Another value is
 * skipped. */
static bool next_item(struct json *j, const char *brackets, bool *first)
{
	bool begins = *first;

	*first = false;
	if (j->wrong)
		return false;
	if (begins && !take(j, brackets[0])) {
		skip_value(j);
		return false;
	}
	if (take(j, brackets[1]))
		return false;
	return begins || take(j, ',') || fail(j);
}

static bool next_key(struct json *j, struct span *key, bool *first)
{
	if (!next_item(j, "{}", first) || !read_string(j, key))
		return false;
	return take(j, ':') || fail(j);
}

/* --- lines ------------------------------------------------------------------------------- */

struct reader {
	struct json json;
	struct notebook *ret;
	const char *counted, *row_start; /* the text before has been counted */
	int row, number;                 /* of the file, and of the cell */
	bool cells, full;
	/* the source so far */
	bool inside, returned; /* a line has begun; its last character was a carriage return */
};

static void count_to(struct reader *r, const char *at)
{
	for (; r->counted < at; r->counted++)
		if (*r->counted == '\n') {
			r->row++;
			r->row_start = r->counted + 1;
		}
}

static void begin_line(struct reader *r, const char *at)
{
	struct notebook *nb = r->ret;
	struct notebook_cell *cell = &nb->cells[nb->cell_count - 1];

	if (nb->line_count == MAX_LINES) {
		r->full = true;
		return;
	}
	count_to(r, at);
	*ARRAY_NEXT(nb->lines, nb->line_count, nb->line_room) = (struct notebook_line){
		.at = at,
		.row = r->row,
		.column = (int)(at - r->row_start) + 1,
		.cell = r->number,
		.number = (int)++cell->count,
		.from = nb->source.length,
	};
	r->inside = true;
}

/* A character, in UTF-8. All ends of lines become \n, and what is invisible a blank. */
static void put(struct reader *r, const char *at, const char *bytes, size_t length)
{
	bool back = r->returned;

	r->returned = *bytes == '\r';
	if (*bytes == '\n' && back)
		return;
	if (!r->inside)
		begin_line(r, at);
	if (r->full)
		return;
	if (*bytes == '\n' || *bytes == '\r') {
		strbuf_puts(&r->ret->source, "\n");
		r->inside = false;
	} else {
		strbuf_add(&r->ret->source, *bytes ? bytes : " ", length);
	}
}

static int64_t hex_number(const char *at, const char *end)
{
	char text[5] = "";

	if (end - at < 4)
		return -1;
	memcpy(text, at, 4);
	for (int i = 0; i < 4; i++)
		if (!is_hex(text[i]))
			return -1;
	return strtol(text, NULL, 16);
}

/* The character at a place of a string; returns how many bytes of the file it takes. */
static size_t decode(const char *at, const char *end, char ret[4], size_t *length)
{
	static const char escapes[] = "n\nr\rt\tb\bf\f";
	const char *escape;
	int64_t c, low;

	*length = 1;
	*ret = *at;
	if (*at != '\\' || end - at < 2)
		return 1;
	escape = strchr(escapes, at[1]);
	*ret = escape && at[1] ? escape[1] : at[1];
	c = at[1] == 'u' ? hex_number(at + 2, end) : -1;
	if (c < 0)
		return 2;
	low = c >= 0xd800 && c < 0xdc00 && end - at >= 12 && at[6] == '\\' && at[7] == 'u'
		      ? hex_number(at + 8, end)
		      : -1;
	if (low >= 0xdc00 && low < 0xe000)
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	else
		low = -1;
	*length = utf8_encode(ret, c >= 0xd800 && c < 0xe000 ? 0xfffd : (uint32_t)c);
	return low < 0 ? 6 : 12;
}

static void add_text(struct reader *r, struct span text)
{
	const char *end = text.text + text.length;
	char bytes[4];
	size_t length;

	for (const char *at = text.text; at < end && !r->full;) {
		const char *here = at;

		at += decode(at, end, bytes, &length);
		put(r, here, bytes, length);
	}
}

int notebook_column(struct notebook *nb, const struct notebook_line *line, size_t byte)
{
	char bytes[4];
	size_t length;

	/* Findings in a long line come in its order. */
	if (nb->column.line != line || nb->column.byte > byte) {
		nb->column.line = line;
		nb->column.byte = 0;
		nb->column.at = line->at;
	}
	while (nb->column.byte < byte && nb->column.at < nb->end && *nb->column.at != '"') {
		nb->column.at += decode(nb->column.at, nb->end, bytes, &length);
		nb->column.byte += length;
	}
	return line->column + (int)(nb->column.at - line->at);
}

/* --- cells ------------------------------------------------------------------------------- */

/* A string, or a list of strings. */
static void read_source(struct reader *r, struct json j)
{
	bool first = true;
	struct span text;

	*ARRAY_NEXT(r->ret->cells, r->ret->cell_count, r->ret->cell_room) =
		(struct notebook_cell){.first = r->ret->line_count};
	r->inside = r->returned = false;
	if (comes(&j, '"')) {
		if (read_string(&j, &text))
			add_text(r, text);
	} else {
		while (next_item(&j, "[]", &first))
			if (take_string(&j, &text))
				add_text(r, text);
	}
	if (r->inside && !r->full)
		strbuf_puts(&r->ret->source, "\n");
}

static void read_cell(struct reader *r)
{
	struct json *j = &r->json, source = {.wrong = true};
	bool first = true, code = false;
	struct span key, type;

	r->number++;
	while (next_key(j, &key, &first)) {
		if (span_is(key, "cell_type") && comes(j, '"')) {
			code = read_string(j, &type) && span_is(type, "code");
			continue;
		}
		/* `input` in notebooks of 2014 and older. */
		if (span_is(key, "source") || (span_is(key, "input") && source.wrong))
			source = *j;
		skip_value(j);
	}
	if (code && !source.wrong && !j->wrong)
		read_source(r, source);
}

static void read_cells(struct reader *r)
{
	bool first = true;

	r->cells |= comes(&r->json, '[');
	while (!r->full && next_item(&r->json, "[]", &first))
		read_cell(r);
}

/* {"language": "python", ...}, {"name": "python", ...} */
static void read_language(struct reader *r, const char *name)
{
	struct json *j = &r->json;
	struct span key, text;
	bool first = true;

	while (next_key(j, &key, &first)) {
		if (!span_is(key, name))
			skip_value(j);
		else if (take_string(j, &text) && text.length)
			r->ret->language = text;
	}
}

static void read_metadata(struct reader *r)
{
	bool first = true;
	struct span key;

	while (next_key(&r->json, &key, &first)) {
		if (span_is(key, "kernelspec") && !r->ret->language.text)
			read_language(r, "language");
		else if (span_is(key, "language_info"))
			read_language(r, "name");
		else
			skip_value(&r->json);
	}
}

/* Of notebooks of 2014 and older: [{"cells": ...}] */
static void read_worksheets(struct reader *r)
{
	struct json *j = &r->json;
	bool first = true, begun;
	struct span key;

	while (!r->full && next_item(j, "[]", &first)) {
		begun = true;
		while (!r->full && next_key(j, &key, &begun))
			if (span_is(key, "cells"))
				read_cells(r);
			else
				skip_value(j);
	}
}

static void read_all(struct reader *r)
{
	struct json *j = &r->json;
	bool first = true;
	struct span key;

	j->wrong = !comes(j, '{');
	while (!r->full && next_key(j, &key, &first)) {
		if (span_is(key, "cells"))
			read_cells(r);
		else if (span_is(key, "worksheets"))
			read_worksheets(r);
		else if (span_is(key, "metadata"))
			read_metadata(r);
		else
			skip_value(j);
	}
	if (!j->wrong)
		skip_blanks(j);
	j->wrong |= j->at < j->end && !r->full;
}

static struct json open_json(struct span text)
{
	span_skip(&text, "\xef\xbb\xbf");
	return (struct json){.at = text.text, .end = text.text + text.length};
}

int notebook_read(struct notebook *ret, struct span text, int *row)
{
	struct reader r = {.json = open_json(text),
			   .ret = ret,
			   .row = 1,
			   .counted = text.text,
			   .row_start = text.text};

	ret->end = r.json.end;
	read_all(&r);
	if (r.full)
		return GPUMAP_ELIMIT;
	if (!r.json.wrong && r.cells)
		return GPUMAP_OK;
	r.row = 1;
	r.counted = text.text;
	count_to(&r, r.json.wrong ? r.json.at : text.text);
	*row = r.row;
	return GPUMAP_EINPUT;
}

bool notebook_recognise(struct span text, bool *cells)
{
	struct json j = open_json(text), items;
	struct span key;
	bool first = true;

	*cells = false;
	if (!comes(&j, '{') && !comes(&j, '['))
		return false;
	items = j;
	if (!skip_value(&j))
		return false;
	skip_blanks(&j);
	if (j.at < j.end)
		return false;
	while (next_key(&items, &key, &first)) {
		*cells |= span_is_any(key, "cells worksheets") && comes(&items, '[');
		skip_value(&items);
	}
	return true;
}

void notebook_free(struct notebook *notebook)
{
	strbuf_free(&notebook->source);
	strbuf_free(&notebook->program);
	strbuf_free(&notebook->scripts);
	free(notebook->lines);
	free(notebook->cells);
	free(notebook->script_list);
}
