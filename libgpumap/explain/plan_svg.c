/* SPDX-License-Identifier: MIT */
/* A plan as a picture: each kind of host once, with its GPUs by number and their ranks. */
#include <stdio.h>

#include "explain/plan.h"
#include "explain/plan_cards.h"

enum {
	WIDTH = 1280,
	COLUMNS = 4,
	GAP = 12,
	INSET = 16,
	MAX_KINDS = 8,
	MAX_CARDS = 16,
	CARD_WIDTH = (WIDTH - 2 * MARGIN - 2 * INSET - (COLUMNS - 1) * GAP) / COLUMNS
};

/* Hosts with one layout. */
struct kind {
	const struct plan_host *first, *last;
	size_t count;
};

/* Finds the first kinds of hosts. Returns the number of hosts that belong to none of them. */
static size_t find_kinds(const gpumap_plan *plan, struct kind kinds[MAX_KINDS], size_t *others)
{
	size_t count = 0;

	*others = 0;
	for (size_t i = 0; i < plan->host_count; i++) {
		const struct plan_host *host = &plan->hosts[i];
		size_t k = 0;

		while (k < count && kinds[k].first->layout != host->layout)
			k++;
		if (k == MAX_KINDS) {
			++*others;
			continue;
		}
		if (k == count)
			kinds[count++] = (struct kind){.first = host};
		kinds[k].last = host;
		kinds[k].count++;
	}
	return count;
}

/* "node01, ranks 0 to 7, and 3 hosts like it up to node04" */
static void host_title(struct strbuf *buf, const struct kind *kind)
{
	size_t count = kind->first->layout->count, from = kind->first->first_rank;

	strbuf_printf(buf, "%.256s", kind->first->name);
	if (!count)
		strbuf_puts(buf, ", no rank");
	else if (count == 1)
		strbuf_printf(buf, ", rank %zu", from);
	else
		strbuf_printf(buf, ", ranks %zu to %zu", from, from + count - 1);
	if (kind->count == 2)
		strbuf_printf(buf, ", and %.256s like it", kind->last->name);
	else if (kind->count > 2)
		strbuf_printf(buf, ", and %zu hosts like it, the last %.256s", kind->count - 1,
			      kind->last->name);
}

/* The visible list of the host's ranks, if all have the same. */
static void host_list(struct strbuf *buf, const struct plan_layout *layout)
{
	for (size_t l = 1; l < layout->count; l++)
		if (!streq(layout->slots[l].visible, layout->slots[0].visible)) {
			strbuf_puts(buf, "each rank has a CUDA_VISIBLE_DEVICES of its own");
			return;
		}
	if (layout->count)
		strbuf_printf(buf, "CUDA_VISIBLE_DEVICES=%.512s", layout->slots[0].visible);
}

static void text_at(struct page *page, int y, const struct ink *ink, int width, struct strbuf *text)
{
	if (text->text)
		svg_text(page->buf, MARGIN + INSET, y, ink, width, text->text);
	scratch_free(page->buf, text);
}

/* Picks the cards that are drawn: if there are too many, those with ranks come first. */
static size_t pick_cards(const struct rank_cards *cards, const struct rank_card *picks[MAX_CARDS],
			 size_t *left)
{
	size_t gpus = cards->count - 2, count = 0, wanted = 0;

	for (size_t i = 0; i < cards->count; i++) {
		const struct rank_card *card = &cards->list[i];
		bool idle = !card->count && !card->chosen;

		if (idle && (i >= gpus || gpus > MAX_CARDS))
			continue;
		wanted++;
		if (count < MAX_CARDS)
			picks[count++] = card;
		else if (card->worst >= RANK_CLASH)
			picks[MAX_CARDS - 1] = card;
	}
	*left = wanted - count;
	return count;
}

static void draw_cards(struct page *page, const struct plan_host *host,
		       const struct rank_card *const *picks, size_t count)
{
	for (size_t from = 0; from < count; from += COLUMNS) {
		size_t end = from + COLUMNS < count ? from + COLUMNS : count;
		struct box box = {.y = page->y, .width = CARD_WIDTH};

		for (size_t i = from; i < end; i++)
			if (rank_card_height(picks[i]) > box.height)
				box.height = rank_card_height(picks[i]);
		for (size_t i = from; i < end; i++) {
			box.x = MARGIN + INSET + (int)(i - from) * (CARD_WIDTH + GAP);
			rank_card_draw(page->buf, picks[i], host, &box);
		}
		page->y += box.height + GAP;
	}
}

static void draw_inside(struct page *page, const struct kind *kind, const struct rank_cards *cards)
{
	const struct rank_card *picks[MAX_CARDS];
	const struct plan_layout *layout = kind->first->layout;
	int width = page_inner(page) - 2 * INSET;
	struct strbuf text = {0};
	size_t left, count = pick_cards(cards, picks, &left);

	host_title(&text, kind);
	text_at(page, page->y + 24, INK(.size = 14, .fill = COLOUR_INK, .bold = true), width,
		&text);
	host_list(&text, layout);
	text_at(page, page->y + 43, INK(.size = 11, .fill = COLOUR_MUTED, .mono = true), width,
		&text);
	page->y += 56;
	draw_cards(page, kind->first, picks, count);
	if (left)
		strbuf_printf(&text, "... %zu more GPUs", left);
	else if (!count)
		strbuf_puts(&text, "no GPU");
	if (!text.length)
		return;
	text_at(page, page->y + 8, INK(.size = 12, .fill = COLOUR_MUTED), width, &text);
	page->y += LINE_HEIGHT;
}

/* The box is as high as its contents, which are drawn into a buffer first. */
static void draw_host(struct page *page, const gpumap_plan *plan, const struct kind *kind)
{
	struct rank_cards cards = {0};
	struct strbuf inside = {0};
	struct page part = {&inside, page->width, page->y};
	struct box box = {.x = MARGIN,
			  .y = page->y,
			  .width = page_inner(page),
			  .fill = COLOUR_CARD,
			  .line = COLOUR_LINE};

	if (!rank_cards_make(&cards, plan, kind->first->layout)) {
		page->buf->failed = true;
		return;
	}
	draw_inside(&part, kind, &cards);
	box.height = part.y + 4 - page->y;
	svg_box(page->buf, &box);
	if (inside.text)
		strbuf_add(page->buf, inside.text, inside.length);
	page->y += box.height + GAP;
	scratch_free(page->buf, &inside);
	free(cards.list);
}

static void draw_hosts(struct page *page, const gpumap_plan *plan)
{
	struct kind kinds[MAX_KINDS];
	size_t others, count = find_kinds(plan, kinds, &others);
	struct strbuf text = {0};

	for (size_t i = 0; i < count; i++)
		draw_host(page, plan, &kinds[i]);
	if (!others)
		return;
	strbuf_printf(&text, "... %zu more hosts, unlike these", others);
	text_at(page, page->y + 12, INK(.size = 13, .fill = COLOUR_MUTED), page_inner(page), &text);
	page->y += LINE_HEIGHT + 6;
}

/* The lines of the text form before its hosts. */
static char *head_line(const gpumap_plan *plan, size_t which)
{
	struct strbuf buf = {0};
	char *text, *line;

	plan_headline(&buf, plan);
	text = strbuf_take(&buf);
	line = text ? strchr(text, '\n') : NULL;
	if (!line)
		return text;
	*line++ = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (which)
		memmove(text, line, strlen(line) + 1);
	return text;
}

static void draw_plan(struct page *page, const gpumap_plan *plan, const gpumap_report *report)
{
	char *rendezvous = head_line(plan, 1);

	if (rendezvous && *rendezvous) {
		svg_text(page->buf, MARGIN, page->y, INK(.size = 13, .fill = COLOUR_MUTED),
			 page_inner(page), rendezvous);
		page->y += LINE_HEIGHT;
	}
	page->buf->failed = page->buf->failed || !rendezvous;
	free(rendezvous);
	page_findings(page, report, GPUMAP_SEVERITY_ERROR, GPUMAP_SEVERITY_ERROR);
	draw_hosts(page, plan);
	page_findings(page, report, GPUMAP_SEVERITY_REMARK, GPUMAP_SEVERITY_WARNING);
}

void plan_svg(struct strbuf *buf, const gpumap_plan *plan, const gpumap_report *report)
{
	struct strbuf body = {0};
	struct page page = {.buf = &body, .width = WIDTH, .y = MARGIN - 8};
	char *title = plan ? head_line(plan, 0) : strdup("No plan");

	if (title) {
		page_headline(&page, plan && plan->answered, title);
		if (plan)
			draw_plan(&page, plan, report);
		else
			page_findings(&page, report, GPUMAP_SEVERITY_REMARK, GPUMAP_SEVERITY_ERROR);
		page_frame(buf, &page, title);
	}
	buf->failed = buf->failed || !title;
	scratch_free(buf, &body);
	free(title);
}
