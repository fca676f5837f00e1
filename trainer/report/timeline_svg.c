/* SPDX-License-Identifier: MIT */
/* The time line as SVG: a row for each rank and lane, and a table of sums. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "report/svg.h"
#include "report/ticks.h"
#include "report/timeline_rows.h"

enum {
	WIDTH = 1280,
	LEFT = 210, /* of the time axis; before it stand the names of the rows */
	RIGHT = WIDTH - 20,
	TOP = 64,
	TABLE_ROW = 20,
	MAX_TABLE = 40, /* rows; the rest is summed up */
	COLORS = 14,
	STYLE = 2048
};

/* Of middle lightness, so that black text is readable on them, and they are visible on white and
 * black. */
static const char *const colors[COLORS] = {"#5aa0e0", "#f0963c", "#52b788", "#e06c75", "#b48ae0",
					   "#c9a227", "#4db6c4", "#e889b9", "#9aa65a", "#8895d8",
					   "#d08b62", "#67b26f", "#c977c9", "#a0a0a0"};

struct picture {
	struct svg svg;
	const struct timeline_rows *rows;
	const char *who;
	double row_height, gap; /* gap: between ranks */
	double bottom;          /* of the rows */
	double scale;           /* pixels per nanosecond */
};

static double x_of(const struct picture *p, int64_t ns)
{
	return LEFT + (double)(ns - p->rows->begin_ns) * p->scale;
}

static void class_of(char class[16], int kind)
{
	snprintf(class, 16, "k%d", kind % COLORS);
}

static void make_style(char style[STYLE])
{
	snprintf(style, STYLE,
		 ".in{fill:#111;font-size:11px}"
		 ".step{stroke:#777;stroke-width:1;stroke-dasharray:3 3}"
		 "rect.row{fill:#888;fill-opacity:.12}");
	for (int i = 0; i < COLORS; i++)
		text_append(style, STYLE, ".k%d{fill:%s}", i, colors[i]);
}

/* --- axis ------------------------------------------------------------------------- */

static void draw_axis(struct picture *p)
{
	double span = (double)(p->rows->end_ns - p->rows->begin_ns) / 1e6;
	char text[NUMBER_TEXT];
	struct ticks ticks;

	ticks_linear(&ticks, 0, span, 12, 1e-6);
	for (int i = 0; i < ticks.count; i++) {
		double x = LEFT + ticks.values[i] * 1e6 * p->scale;

		drawing_line(&p->svg, x, TOP, x, p->bottom, "faint");
		drawing_line(&p->svg, x, p->bottom, x, p->bottom + 4, "axis");
		drawing_text(&p->svg, x, p->bottom + 18, "small middle",
			     tick_text(text, &ticks, i));
	}
	drawing_line(&p->svg, LEFT, p->bottom, RIGHT, p->bottom, "axis");
	drawing_text(&p->svg, (LEFT + RIGHT) / 2.0, p->bottom + 36, "middle", "ms");
}

static void draw_steps(struct picture *p)
{
	double free_from = 0;
	char text[32];

	for (int i = 0; i < p->rows->starts_count; i++) {
		const struct timeline_start *start = &p->rows->starts[i];
		double x = x_of(p, start->ns), width;

		snprintf(text, sizeof(text), "step %d", start->step);
		width = text_width(SVG_SMALL, text, strlen(text));
		if (x < free_from)
			continue;
		drawing_line(&p->svg, x, TOP - 16, x, p->bottom, "step");
		if (x + 4 + width < RIGHT)
			drawing_text(&p->svg, x + 4, TOP - 8, "small", text);
		free_from = x + width + 10;
	}
}

/* --- rows ------------------------------------------------------------------------- */

static void draw_box(struct picture *p, int place, double y, double width)
{
	const struct timeline_interval *at = p->rows->order[place];
	double x = x_of(p, at->begin_ns), fit;
	char class[16], name[TIMELINE_NAME + 1], hint[TIMELINE_NAME + 64], ms[NUMBER_TEXT];

	snprintf(name, sizeof(name), "%.*s", TIMELINE_NAME, at->name);
	snprintf(hint, sizeof(hint), "%s: %s ms, step %d", name,
		 number_fixed(ms, (double)timeline_duration(at) / 1e6, 3), at->step);
	class_of(class, p->rows->kind[place]);
	drawing_rect(&p->svg, x, y, width, p->row_height - 1, class, width > 1 ? hint : NULL);
	fit = text_width(SVG_SMALL, name, strlen(name)) + 6;
	if (name[0] && fit <= width && p->row_height >= 13)
		drawing_text(&p->svg, x + 3, y + p->row_height / 2 + 3.5, "in", name);
}

/* Boxes below a pixel that begin in the same one: the longest is drawn. */
static void draw_row(struct picture *p, const struct timeline_row *row, double y)
{
	const struct timeline_interval *const *order = p->rows->order;
	int best = -1, best_column = -1;

	drawing_rect(&p->svg, LEFT, y, RIGHT - LEFT, p->row_height - 1, "row", NULL);
	for (int i = row->first; i < row->first + row->count; i++) {
		double width = (double)timeline_duration(order[i]) * p->scale;
		int column = (int)x_of(p, order[i]->begin_ns);

		if (best >= 0 && column != best_column) {
			draw_box(p, best, y, 1);
			best = -1;
		}
		if (width >= 1) {
			draw_box(p, i, y, width);
		} else if (best < 0 ||
			   timeline_duration(order[i]) > timeline_duration(order[best])) {
			best = i;
			best_column = column;
		}
	}
	if (best >= 0)
		draw_box(p, best, y, 1);
}

static void draw_rows(struct picture *p)
{
	char text[64];
	double y = TOP;

	for (int i = 0; i < p->rows->rows_count; i++) {
		const struct timeline_row *row = &p->rows->rows[i];
		double middle = y + p->row_height / 2 + 3.5;
		bool first = !i || row->rank != row[-1].rank;

		if (first && i) {
			y += p->gap;
			middle += p->gap;
		}
		if (first) {
			snprintf(text, sizeof(text), "%s %d, GPU %d", p->who, row->rank,
				 row->device);
			drawing_text(&p->svg, 8, middle, "small", text);
		}
		drawing_text(&p->svg, LEFT - 6, middle, "small end", timeline_lane_name(row->lane));
		draw_row(p, row, y);
		y += p->row_height;
	}
}

/* --- table ------------------------------------------------------------------------ */

static void put_columns(struct picture *p, double y, const char *name,
			const struct timeline_kind *kind, double all_ns)
{
	double parts = (double)p->rows->ranks * p->rows->starts_count;
	char text[64], number[NUMBER_TEXT];

	drawing_text(&p->svg, LEFT + 22, y, "", name);
	snprintf(text, sizeof(text), "%" PRId64, kind->count);
	drawing_text(&p->svg, LEFT + 430, y, "end", text);
	drawing_text(&p->svg, LEFT + 540, y, "end",
		     number_decimals(number, (double)kind->ns / 1e6, 3));
	drawing_text(&p->svg, LEFT + 690, y, "end",
		     number_decimals(number, (double)kind->ns / 1e6 / parts, 3));
	snprintf(text, sizeof(text), "%s %%",
		 number_decimals(number, all_ns > 0 ? 100 * (double)kind->ns / all_ns : 0, 1));
	drawing_text(&p->svg, LEFT + 780, y, "end", text);
}

static void draw_table(struct picture *p)
{
	const struct timeline_rows *rows = p->rows;
	struct timeline_kind rest = {.count = 0};
	double y = p->bottom + 70, all_ns = 0;
	char class[16], name[TIMELINE_NAME + 1], heading[48];

	for (int i = 0; i < rows->kinds_count; i++)
		all_ns += (double)rows->kinds[i].ns;
	drawing_text(&p->svg, LEFT + 22, y, "small", "sum of");
	drawing_text(&p->svg, LEFT + 430, y, "small end", "times");
	drawing_text(&p->svg, LEFT + 540, y, "small end", "ms");
	snprintf(heading, sizeof(heading), "ms per %s, step", p->who);
	drawing_text(&p->svg, LEFT + 690, y, "small end", heading);
	drawing_text(&p->svg, LEFT + 780, y, "small end", "part");
	drawing_line(&p->svg, LEFT, y + 6, LEFT + 780, y + 6, "faint");
	for (int i = 0; i < rows->kinds_count; i++) {
		if (i >= MAX_TABLE) {
			rest.count += rows->kinds[i].count;
			rest.ns += rows->kinds[i].ns;
			continue;
		}
		y += TABLE_ROW;
		class_of(class, i);
		drawing_rect(&p->svg, LEFT, y - 10, 14, 12, class, NULL);
		snprintf(name, sizeof(name), "%.*s", TIMELINE_NAME, rows->kinds[i].name);
		put_columns(p, y, name, &rows->kinds[i], all_ns);
	}
	if (rest.count) {
		snprintf(name, sizeof(name), "%d more", rows->kinds_count - MAX_TABLE);
		put_columns(p, y + TABLE_ROW, name, &rest, all_ns);
	}
}

static void draw(struct picture *p)
{
	char title[96];

	snprintf(title, sizeof(title), "%d %s%s, %d step%s", p->rows->ranks, p->who,
		 p->rows->ranks == 1 ? "" : "s", p->rows->starts_count,
		 p->rows->starts_count == 1 ? "" : "s");
	if (!p->rows->count) {
		drawing_text(&p->svg, 20, 30, "title", "nothing was recorded");
		return;
	}
	drawing_text(&p->svg, 8, 26, "title", title);
	draw_axis(p);
	draw_rows(p);
	draw_steps(p);
	draw_table(p);
}

bool timeline_svg(const char *file, const struct timeline_interval *intervals, int count,
		  const char *who, struct train_error *error)
{
	struct picture p = {.who = who, .row_height = 22, .gap = 8};
	CLEANUP(timeline_rows_free) struct timeline_rows rows;
	char style[STYLE];
	double span;
	int table;

	timeline_rows_make(&rows, intervals, count);
	p.rows = &rows;
	if (rows.ranks > 8) {
		p.row_height = 14;
		p.gap = 4;
	}
	span = (double)(rows.end_ns - rows.begin_ns);
	p.scale = span > 0 ? (RIGHT - LEFT) / span : 1;
	p.bottom = TOP + rows.rows_count * p.row_height + (rows.ranks - 1) * p.gap + 4;
	table = rows.kinds_count > MAX_TABLE ? MAX_TABLE + 1 : rows.kinds_count;
	make_style(style);
	if (!drawing_open(&p.svg, file, WIDTH,
			  count ? (int)p.bottom + 70 + table * TABLE_ROW + 20 : 60, style, error))
		return false;
	draw(&p);
	return drawing_close(&p.svg, error);
}
