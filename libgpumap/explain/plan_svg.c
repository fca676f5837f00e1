/* SPDX-License-Identifier: MIT */
/* A plan as a picture: each kind of host once, with its GPUs by number and their ranks. */
#include "explain/plan.h"
#include "explain/plan_cards.h"

enum {
	MAX_WIDTH = 1280,
	MAX_COLUMNS = 4,
	GAP = 12,
	INSET = 16,
	MAX_KINDS = 8,
	MAX_CARDS = 16,
	MIN_CARD = 240,
	MAX_CARD = 600
};

/* Hosts with one layout. */
struct kind {
	const struct plan_host *first, *last;
	size_t count;
	struct rank_cards cards;
	const struct rank_card *picks[MAX_CARDS];
	size_t pick_count, left;
};

struct hosts {
	struct kind kinds[MAX_KINDS];
	size_t count, others; /* others: hosts that belong to none of the kinds */
	int card_width, columns;
};

static void find_kinds(struct hosts *hosts, const gpumap_plan *plan)
{
	struct kind *kinds = hosts->kinds;
	size_t count = 0;

	for (size_t i = 0; i < plan->host_count; i++) {
		const struct plan_host *host = &plan->hosts[i];
		size_t k = 0;

		while (k < count && kinds[k].first->layout != host->layout)
			k++;
		if (k == MAX_KINDS) {
			hosts->others++;
			continue;
		}
		if (k == count)
			kinds[count++] = (struct kind){.first = host};
		kinds[k].last = host;
		kinds[k].count++;
	}
	hosts->count = count;
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
	if (!lists_equal(layout))
		strbuf_puts(buf, "each rank has a CUDA_VISIBLE_DEVICES of its own");
	else if (layout->count)
		strbuf_printf(buf, "CUDA_VISIBLE_DEVICES=%.512s", layout->ranks[0].visible);
}

static void text_at(struct page *page, const struct ink *ink, struct strbuf *text)
{
	int width = page_inner(page) - 2 * INSET;

	if (text->text)
		page->y += svg_leading(ink) * svg_paragraph(page->buf, MARGIN + INSET,
							    page->y + svg_leading(ink), ink, width,
							    MAX_LINES, text->text);
	scratch_free(page->buf, text);
}

/* Picks the cards that are drawn: if there are too many, those with ranks come first. */
static void pick_cards(struct kind *kind)
{
	size_t gpus = kind->cards.count - 2, count = 0, wanted = 0;

	for (size_t i = 0; i < kind->cards.count; i++) {
		const struct rank_card *card = &kind->cards.list[i];
		bool idle = !card->count && !card->chosen;

		if (idle && (i >= gpus || gpus > MAX_CARDS))
			continue;
		wanted++;
		if (count < MAX_CARDS)
			kind->picks[count++] = card;
		else if (card->worst >= RANK_CLASH)
			kind->picks[MAX_CARDS - 1] = card;
	}
	kind->pick_count = count;
	kind->left = wanted - count;
}

/* Decides which cards are drawn. Returns the width of the page that has room for their text; 0
 * without memory. */
static int measure(struct hosts *hosts, const gpumap_plan *plan)
{
	const struct box place = {.width = MAX_CARD};
	const int beside = 2 * (MARGIN + INSET) - GAP;
	int columns = 1, card = MIN_CARD, room, width;
	CLEANUP(strbuf_free) struct strbuf scratch = {0};

	find_kinds(hosts, plan);
	for (size_t k = 0; k < hosts->count; k++) {
		struct kind *kind = &hosts->kinds[k];

		if (!rank_cards_make(&kind->cards, plan, kind->first->layout))
			scratch.failed = true;
		else
			pick_cards(kind);
		for (size_t i = 0; i < kind->pick_count; i++) {
			int need = rank_card_draw(&scratch, kind->picks[i], kind->first, &place);

			card = need > card ? need : card;
			scratch.length = 0;
		}
		columns = (int)kind->pick_count > columns ? (int)kind->pick_count : columns;
	}
	hosts->card_width = card < MAX_CARD ? card : MAX_CARD;
	room = (MAX_WIDTH - beside) / (hosts->card_width + GAP);
	room = room < MAX_COLUMNS ? room : MAX_COLUMNS;
	hosts->columns = columns < room ? columns : room;
	width = beside + hosts->columns * (hosts->card_width + GAP);
	if (scratch.failed)
		width = 0;
	else if (width < MIN_WIDTH)
		width = MIN_WIDTH;
	return width;
}

static void draw_cards(struct page *page, const struct hosts *hosts, const struct kind *kind)
{
	const size_t columns = (size_t)hosts->columns;

	for (size_t from = 0; from < kind->pick_count; from += columns) {
		size_t end = from + columns < kind->pick_count ? from + columns : kind->pick_count;
		struct box box = {.y = page->y, .width = hosts->card_width};

		for (size_t i = from; i < end; i++)
			if (rank_card_height(kind->picks[i]) > box.height)
				box.height = rank_card_height(kind->picks[i]);
		for (size_t i = from; i < end; i++) {
			box.x = MARGIN + INSET + (int)(i - from) * (box.width + GAP);
			rank_card_draw(page->buf, kind->picks[i], kind->first, &box);
		}
		page->y += box.height + GAP;
	}
}

static void draw_inside(struct page *page, const struct hosts *hosts, const struct kind *kind)
{
	struct strbuf text = {0};

	page->y += 4;
	host_title(&text, kind);
	text_at(page, INK(.size = 14, .fill = COLOUR_INK, .bold = true), &text);
	host_list(&text, kind->first->layout);
	text_at(page, INK(.size = 11, .fill = COLOUR_MUTED, .mono = true), &text);
	page->y += 14;
	draw_cards(page, hosts, kind);
	if (kind->left)
		strbuf_printf(&text, "... %zu more GPUs", kind->left);
	else if (!kind->pick_count)
		strbuf_puts(&text, "no GPU");
	if (!text.length)
		return;
	page->y -= 8;
	text_at(page, INK(.size = 12, .fill = COLOUR_MUTED), &text);
	page->y += 10;
}

/* The box is as high as its contents, which are drawn into a buffer first. */
static void draw_host(struct page *page, const struct hosts *hosts, const struct kind *kind)
{
	struct strbuf inside = {0};
	struct page part = {&inside, page->width, page->y};
	struct box box = {.x = MARGIN,
			  .y = page->y,
			  .width = page_inner(page),
			  .fill = COLOUR_CARD,
			  .line = COLOUR_LINE};

	draw_inside(&part, hosts, kind);
	box.height = part.y + 4 - page->y;
	svg_box(page->buf, &box);
	if (inside.text)
		strbuf_add(page->buf, inside.text, inside.length);
	page->y += box.height + GAP;
	scratch_free(page->buf, &inside);
}

static void draw_hosts(struct page *page, const struct hosts *hosts)
{
	struct strbuf text = {0};

	for (size_t i = 0; i < hosts->count; i++)
		draw_host(page, hosts, &hosts->kinds[i]);
	if (!hosts->others)
		return;
	strbuf_printf(&text, "... %zu more hosts, unlike these", hosts->others);
	text_at(page, INK(.size = 13, .fill = COLOUR_MUTED), &text);
	page->y += 12;
}

static void draw_plan(struct page *page, const gpumap_plan *plan, const struct hosts *hosts,
		      const gpumap_report *report)
{
	struct strbuf text = {0};

	page_findings(page, report, GPUMAP_SEVERITY_ERROR, GPUMAP_SEVERITY_ERROR);
	if (plan->world_size > 1)
		plan_rendezvous(&text, plan);
	if (text.text)
		page->y += 4 + LINE_HEIGHT * svg_paragraph(page->buf, MARGIN, page->y + 9,
							   INK(.size = 13, .fill = COLOUR_MUTED),
							   page_inner(page), MAX_LINES, text.text);
	scratch_free(page->buf, &text);
	draw_hosts(page, hosts);
	page_findings(page, report, GPUMAP_SEVERITY_REMARK, GPUMAP_SEVERITY_WARNING);
}

void plan_svg(struct strbuf *buf, const gpumap_plan *plan, const gpumap_report *report)
{
	struct strbuf body = {0};
	struct hosts hosts = {0};
	struct page page = {.buf = &body, .y = MARGIN - 8};
	struct strbuf title = {0};

	if (plan)
		plan_headline(&title, plan);
	else
		strbuf_puts(&title, "No plan");
	page.width = plan ? measure(&hosts, plan) : MIN_WIDTH;
	if (title.text && page.width) {
		page_headline(&page, plan && plan->answered, title.text);
		if (plan)
			draw_plan(&page, plan, &hosts, report);
		else
			page_findings(&page, report, GPUMAP_SEVERITY_REMARK, GPUMAP_SEVERITY_ERROR);
		page_frame(buf, &page, title.text);
	}
	buf->failed = buf->failed || !page.width;
	scratch_free(buf, &title);
	scratch_free(buf, &body);
	for (size_t i = 0; i < hosts.count; i++)
		free(hosts.kinds[i].cards.list);
}
