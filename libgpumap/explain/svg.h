/* SPDX-License-Identifier: MIT */
/* The parts of pictures: strokes and text (svg_draw.c), the page (svg_page.c). Of a
 * mapping: which devices are shown where (svg_columns.c), their cards (svg_cards.c), columns
 * and arrows (svg_devices.c), all of it (mapping_svg.c). Of a plan: plan_svg.c. */
#ifndef GM_SVG_H
#define GM_SVG_H

#include "resolve/mapping.h"
#include "strbuf.h"
#include "text.h"

/* Frees the buffer of a part of the picture; `buf` keeps that memory ran out there. */
static inline void scratch_free(struct strbuf *buf, struct strbuf *scratch)
{
	buf->failed = buf->failed || scratch->failed;
	strbuf_free(scratch);
}

/* --- strokes and text; lengths are pixels --------------------------------- */

#define COLOUR_PAPER "#fbfcfe"
#define COLOUR_CARD "#ffffff"
#define COLOUR_LINE "#cbd5e1"
#define COLOUR_INK "#1e293b"
#define COLOUR_MUTED "#64748b"
#define COLOUR_PALE "#94a3b8"
#define COLOUR_PALE_LINE "#e2e8f0"
#define COLOUR_PALE_CARD "#f4f6f9"
#define COLOUR_CHOSEN "#0f766e"
#define COLOUR_CHOSEN_CARD "#ecfdf7"
#define COLOUR_GROUP "#1d4ed8"
#define COLOUR_GROUP_CARD "#eff4ff"
#define COLOUR_MASTER "#6d28d9"
#define COLOUR_MASTER_CARD "#f3edff"
#define COLOUR_UNSURE "#b45309"
#define COLOUR_UNSURE_LINE "#e0ab62"
#define COLOUR_UNSURE_CARD "#fff8eb"
#define COLOUR_ERROR "#b91c1c"
#define COLOUR_ERROR_CARD "#fef2f2"

struct ink {
	int size;
	const char *fill;
	bool bold, mono, strike, right; /* right: x is where the text ends */
};

#define INK(...) (&(const struct ink){__VA_ARGS__})

/* The greatest width of the text in the fonts that viewers use. */
int svg_width(const struct ink *ink, const char *text, size_t length);

/* One line; what does not fit into `width` is cut with an ellipsis. The width of the whole text. */
int svg_text(struct strbuf *buf, int x, int y, const struct ink *ink, int width, const char *text);

/* Several lines, the last of at most `lines` cut; the number of lines written. */
int svg_paragraph(struct strbuf *buf, int x, int y, const struct ink *ink, int width, int lines,
		  const char *text);
/* The distance from line to line. */
int svg_leading(const struct ink *ink);

struct box {
	int x, y, width, height;
	const char *fill, *line;
	int weight; /* of the line; 0: one pixel */
	bool dashed;
};

void svg_box(struct strbuf *buf, const struct box *box);

/* A rounded label. Returns its width, so that the next one can follow. */
int svg_pill(struct strbuf *buf, int x, int y, const char *fill, const char *colour,
	     const char *text);
int svg_pill_width(const char *text);

/* --- the page -------------------------------------------------------------- */

enum { MARGIN = 32, LINE_HEIGHT = 19, MIN_WIDTH = 900, MAX_LINES = 8 };

struct page {
	struct strbuf *buf;
	int width, y; /* y: where the next part begins */
};

static inline int page_inner(const struct page *page)
{
	return page->width - 2 * MARGIN;
}

void page_headline(struct page *page, bool good, const char *text);

/* Findings of the severities from `least` to `max`, the worst first. */
void page_findings(struct page *page, const gpumap_report *report, int least, int max);

/* The whole picture, with the contents of the page. */
void page_frame(struct strbuf *buf, const struct page *page, const char *title);

/* --- columns --------------------------------------------------------------- */

/* How a device or an arrow is used; greater is more important. */
enum level { LEVEL_HIDDEN, LEVEL_VISIBLE, LEVEL_UNSURE, LEVEL_GROUP, LEVEL_CHOSEN };

enum column_kind {
	COLUMN_HOST,
	COLUMN_GRANT,  /* keeps devices and their order, and is drawn beside its parent's */
	COLUMN_LIST,   /* picks and orders */
	COLUMN_LOGICAL /* the process's own devices */
};

struct item {
	const gpumap_device *device; /* NULL: undecided */
	const gpumap_entry *entry;   /* of a logical device, else NULL */
	int number;                  /* in this view; of a MIG instance: its GPU's */
};

enum { MAX_ROWS = 32, ROW_HEIGHT = 46, CARD_HEIGHT = 38, GAP_HEIGHT = 26 };

/* A device, or "... N more". */
struct row {
	size_t first, count;
	bool gap;
	int y;
	enum level level;
};

struct column {
	enum column_kind kind;
	const char *label;
	struct item *items;
	size_t count;
	size_t picks[MAX_ROWS]; /* the items shown, ascending */
	size_t pick_count;
	struct row rows[MAX_ROWS];
	size_t row_count;
	int x, width;
};

struct columns {
	const gpumap_mapping *mapping;
	struct column list[MAX_VIEWS + 1]; /* the last one is the logical devices */
	size_t count;
	int height;
	bool failed; /* memory ran out */
};

/* Decides what is shown, and all positions except x. */
void columns_make(struct columns *columns, const gpumap_mapping *mapping);
void columns_free(struct columns *columns);

/* The row of the device, or of the GPU of a MIG instance, or the "more" row that includes it; NULL:
 * it is not in the column. */
const struct row *column_find(const struct column *column, const gpumap_device *device);

static inline bool is_instance(const gpumap_device *device)
{
	return device->gpu != device;
}

/* Whether the mode has replicas: data parallel and model parallel. */
static inline bool is_group(const gpumap_mapping *mapping)
{
	return streq(mapping->mode, "dp") || streq(mapping->mode, "mp");
}

/* --- cards -------------------------------------------------------------------- */

struct look {
	const char *ink, *muted, *line, *card, *arrow;
	int weight;
};

const struct look *svg_look(enum level level);

/* The number of a device in an outer list is as unsure as the logical devices that follow from it.
 */
static inline bool view_is_unsure(const struct column *column, const struct row *row)
{
	return column->kind == COLUMN_LIST && row->level == LEVEL_UNSURE;
}

/* The text of a card, with the card's corner as the origin. The width that it needs. */
int card_view(struct strbuf *buf, const struct column *column, const struct row *row, int width);
int card_logical(struct strbuf *buf, const struct columns *columns, const struct row *row,
		 int width);
/* A tooltip with the text that had to be cut. */
void card_tooltip(struct strbuf *buf, const gpumap_device *device);

/* --- devices and arrows ------------------------------------------------------ */

/* Returns the width that the columns need; then places them, with `spare` more between them. */
int devices_width(struct columns *columns);
void devices_place(struct columns *columns, int x, int spare);

/* Draws the columns with their headings, from y down. Returns the y below them. */
int devices_draw(struct strbuf *buf, const struct columns *columns, int y);

#endif
