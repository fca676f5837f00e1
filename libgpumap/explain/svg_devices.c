/* SPDX-License-Identifier: MIT */
/* The columns with their headings, cards and arrows. */
#include "explain/svg.h"

#include <stdio.h>

enum { HEADING = 46, GAP = 96, INDENT = 18, FEW_ARROWS = 24, MAX_CARD = 600 };

/* --- headings ------------------------------------------------------------------- */

static size_t gpu_count(const struct column *column)
{
	size_t count = 0;

	for (size_t i = 0; i < column->count; i++)
		count += column->items[i].entry || column->kind == COLUMN_LIST ||
			 !is_instance(column->items[i].device);
	return count;
}

static void heading(struct strbuf *buf, const struct column *column, int y)
{
	size_t count = gpu_count(column);
	const char *s = count == 1 ? "" : "s", *label = column->label;
	char note[96];

	switch (column->kind) {
	case COLUMN_HOST:
		label = "Physical GPUs";
		snprintf(note, sizeof(note), "%zu, %s", count,
			 count && column->items[0].number < 0 ? "numbers not known"
							      : "with nvidia-smi's numbers");
		break;
	case COLUMN_GRANT:
		snprintf(note, sizeof(note), "keeps %zu GPU%s", count, s);
		break;
	case COLUMN_LIST:
		snprintf(note, sizeof(note), "sees %zu device%s", count, s);
		break;
	default:
		label = "Logical devices";
		snprintf(note, sizeof(note), "the process sees %zu", count);
	}
	if (column->kind == COLUMN_GRANT)
		label = streq(label, "container") ? "Container" : "Device cgroup";
	svg_text(buf, column->x, y + 14, INK(.size = 14, .fill = COLOUR_INK, .bold = true),
		 column->width + GAP - 12, label);
	svg_text(buf, column->x, y + 32, INK(.size = 12, .fill = COLOUR_MUTED),
		 column->width + GAP - 12, note);
}

/* --- arrows ---------------------------------------------------------------------- */

static int middle(const struct row *row)
{
	return row->y + (row->gap ? GAP_HEIGHT - 8 : CARD_HEIGHT) / 2;
}

/* MIG instances stand below their GPU. */
static int indent(const struct column *column, const struct row *row)
{
	const struct item *item = &column->items[row->first];

	return column->kind != COLUMN_LIST && !row->gap && !item->entry && is_instance(item->device)
		       ? INDENT
		       : 0;
}

struct stroke {
	const char *colour;
	int weight;
	bool dashed;
};

static void arrow(struct strbuf *buf, const struct column *from, const struct row *source,
		  const struct column *to, const struct row *row, int y,
		  const struct stroke *stroke)
{
	int x0 = from->x + from->width + 3, x1 = to->x + indent(to, row) - 3, bend = (x0 + x1) / 2;
	int y0 = y + middle(source), y1 = y + middle(row);

	strbuf_printf(buf, "<path d=\"M%d %d", x0, y0);
	if (y0 == y1)
		strbuf_printf(buf, "H%d", x1 - 6);
	else
		strbuf_printf(buf, "C%d %d %d %d %d %d", bend, y0, bend, y1, x1 - 6, y1);
	strbuf_printf(buf, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"%d\"%s/>\n",
		      stroke->colour, stroke->weight,
		      stroke->dashed ? " stroke-dasharray=\"5 4\"" : "");
	strbuf_printf(buf, "<path d=\"M%d %dl-8 -4v8z\" fill=\"%s\"/>\n", x1, y1, stroke->colour);
}

static bool is_candidate(const gpumap_entry *entry, const struct column *column,
			 const struct row *row)
{
	const gpumap_device *device = column->items[row->first].device;

	for (size_t i = 0; i < entry->count; i++)
		if (entry->candidates[i] == device)
			return true;
	return false;
}

/* Dashed arrows from everything that an undecided device can be. */
static void candidate_arrows(struct strbuf *buf, const struct columns *columns,
			     const struct row *row, int y)
{
	const struct column *to = &columns->list[columns->count - 1], *from = to - 1;
	const gpumap_entry *entry = to->items[row->first].entry;
	bool chosen = entry == columns->mapping->chosen;
	struct stroke stroke = {chosen ? COLOUR_UNSURE : COLOUR_UNSURE_LINE, chosen ? 2 : 1, true};

	for (size_t i = 0; i < from->row_count; i++)
		if (is_candidate(entry, from, &from->rows[i]))
			arrow(buf, from, &from->rows[i], to, row, y, &stroke);
}

/* Arrows from all to all would be a tangle; then only the chosen device's are drawn, or the first
 * one's. */
static bool has_candidate_arrows(const struct columns *columns, const struct row *row)
{
	const struct column *logical = &columns->list[columns->count - 1];
	const gpumap_entry *chosen = columns->mapping->chosen;
	const gpumap_entry *entry = logical->items[row->first].entry;

	if (entry->count * logical->row_count <= FEW_ARROWS || entry == chosen)
		return true;
	return row == logical->rows && !(chosen && !entry_decided(chosen));
}

/* An outer list that is unsure has one candidate of each device, not the device itself. */
static void unsure_arrows(struct strbuf *buf, const struct column *to, const struct row *row, int y)
{
	const struct column *from = to - 1;
	struct stroke stroke = {COLOUR_UNSURE_LINE, 1, true};

	for (size_t i = 0; i < from->row_count; i++)
		if (from->rows[i].level == LEVEL_UNSURE)
			arrow(buf, from, &from->rows[i], to, row, y, &stroke);
}

static void arrows_into(struct strbuf *buf, const struct columns *columns, size_t n,
			enum level level, int y)
{
	const struct column *to = &columns->list[n], *from = to - 1;

	for (size_t i = 0; i < to->row_count; i++) {
		const struct row *row = &to->rows[i], *source = NULL;
		const struct item *item = &to->items[row->first];

		if (row->level != level || (row->gap && to->kind != COLUMN_GRANT))
			continue;
		if (item->entry && !entry_decided(item->entry)) {
			if (has_candidate_arrows(columns, row))
				candidate_arrows(buf, columns, row, y);
			continue;
		}
		if (view_is_unsure(to, row)) {
			unsure_arrows(buf, to, row, y);
			continue;
		}
		source = column_find(from, item->device);
		if (source)
			arrow(buf, from, source, to, row, y,
			      &(struct stroke){svg_look(level)->arrow, svg_look(level)->weight,
					       false});
	}
}

/* --- cards ------------------------------------------------------------------------ */

static void more(struct strbuf *buf, const struct column *column, const struct row *row, int y)
{
	svg_text(buf, column->x + 12, y + 13, INK(.size = 12, .fill = COLOUR_MUTED),
		 column->width - 12, FORMAT("... %zu more", row->count));
}

/* A card is a nested drawing, so that its text is clipped. */
static void card(struct strbuf *buf, const struct columns *columns, const struct column *column,
		 const struct row *row, int y)
{
	const struct look *look = svg_look(row->level);
	const gpumap_device *d = column->items[row->first].device;
	int in = indent(column, row);
	struct box box = {.x = column->x + in,
			  .y = y,
			  .width = column->width - in,
			  .height = CARD_HEIGHT,
			  .fill = look->card,
			  .line = look->line,
			  .weight = look->weight,
			  .dashed =
				  row->level == LEVEL_UNSURE &&
				  (column->items[row->first].entry || column->kind == COLUMN_LIST)};

	svg_box(buf, &box);
	strbuf_printf(buf, "<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\">", box.x, box.y,
		      box.width, box.height);
	if (d && !view_is_unsure(column, row))
		card_tooltip(buf, d);
	if (column->kind == COLUMN_LOGICAL)
		card_logical(buf, columns, row, box.width);
	else
		card_view(buf, column, row, box.width);
	strbuf_puts(buf, "</svg>\n");
}

/* Below the logical devices: that there are none, and which entry ended the list. Returns the
 * width that it needs. */
static int notes(struct strbuf *buf, const struct columns *columns, int width, int y)
{
	const gpumap_mapping *mapping = columns->mapping;
	const struct column *column = &columns->list[columns->count - 1];
	const struct row *last = column->rows + column->row_count - 1;
	struct box box = {.x = column->x,
			  .width = width,
			  .height = CARD_HEIGHT,
			  .fill = COLOUR_ERROR_CARD,
			  .line = COLOUR_ERROR,
			  .dashed = true};
	int need, taken;

	box.y = y + (column->row_count ? last->y + (last->gap ? GAP_HEIGHT : ROW_HEIGHT) : 0);
	if (!mapping->visible_count) {
		svg_box(buf, &box);
		svg_text(buf, box.x + 12, box.y + 24,
			 INK(.size = 13, .fill = COLOUR_ERROR, .bold = true), width - 24,
			 "no device is visible");
		box.y += ROW_HEIGHT;
	}
	if (!mapping->ended_text)
		return 0;
	svg_box(buf, &box);
	need = svg_text(buf, box.x + 12, box.y + 17,
			INK(.size = 12, .fill = COLOUR_ERROR, .mono = true, .strike = true),
			width - 24,
			FORMAT("entry %d: '%.200s'", mapping->ended_entry, mapping->ended_text));
	taken = svg_text(
		buf, box.x + 12, box.y + 32, INK(.size = 11, .fill = COLOUR_ERROR), width - 24,
		FORMAT("ends the list: %s (%s)", mapping->ended_reason, mapping->ended_rule));
	return (taken > need ? taken : need) + 24;
}

/* --- places -------------------------------------------------------------------- */

static int column_width(struct columns *columns, const struct column *column)
{
	bool logical = column->kind == COLUMN_LOGICAL;
	int width = logical ? 260 : 170;
	CLEANUP(strbuf_free) struct strbuf scratch = {0};

	for (size_t i = 0; i < column->row_count; i++) {
		const struct row *row = &column->rows[i];
		int need = 0;

		if (!row->gap)
			need = indent(column, row) +
			       (logical ? card_logical(&scratch, columns, row, MAX_CARD)
					: card_view(&scratch, column, row, MAX_CARD));
		width = need > width ? need : width;
		scratch.length = 0;
	}
	if (logical) {
		int need = notes(&scratch, columns, MAX_CARD, 0);

		width = need > width ? need : width;
	}
	columns->failed = columns->failed || scratch.failed;
	return width < MAX_CARD ? width : MAX_CARD;
}

int devices_width(struct columns *columns)
{
	int width = 0;

	for (size_t i = 0; i < columns->count; i++) {
		columns->list[i].width = column_width(columns, &columns->list[i]);
		width += columns->list[i].width + (i ? GAP : 0);
	}
	return width;
}

void devices_place(struct columns *columns, int x, int spare)
{
	int gap = GAP + (columns->count > 1 ? spare / (int)(columns->count - 1) : 0);

	for (size_t i = 0; i < columns->count; i++) {
		columns->list[i].x = x;
		x += columns->list[i].width + gap;
	}
}

/* --- all of it ----------------------------------------------------------------- */

int devices_draw(struct strbuf *buf, const struct columns *columns, int y)
{
	for (size_t n = 0; n < columns->count; n++)
		heading(buf, &columns->list[n], y);
	y += HEADING;
	/* Important arrows are drawn above the others. */
	for (int level = LEVEL_HIDDEN; level <= LEVEL_CHOSEN; level++)
		for (size_t n = 1; n < columns->count; n++)
			arrows_into(buf, columns, n, (enum level)level, y);
	for (size_t n = 0; n < columns->count; n++) {
		const struct column *column = &columns->list[n];

		for (size_t i = 0; i < column->row_count; i++) {
			const struct row *row = &column->rows[i];

			if (row->gap)
				more(buf, column, row, y + row->y);
			else
				card(buf, columns, column, row, y + row->y);
		}
	}
	notes(buf, columns, columns->list[columns->count - 1].width, y);
	return y + columns->height;
}
