/* SPDX-License-Identifier: MIT */
/* The answer as a picture: the headline, errors, devices, rules, warnings. */
#include "explain/explain.h"
#include "explain/svg.h"

#include <stdio.h>

enum {
	MARGIN = 32,
	MIN_WIDTH = 900,
	LINE_HEIGHT = 19,
	SECTION = 26,
	INSET = 14,
	RULE_WIDTH = 58,
	ORIGIN_WIDTH = 190,
	FEW_STEPS = 40,
	FEW_LOSERS = 8,
	FEW_FINDINGS = 20,
};

struct page {
	struct strbuf *buf;
	int width, y;
};

static int inner(const struct page *page)
{
	return page->width - 2 * MARGIN;
}

/* --- head ---------------------------------------------------------------------- */

/* The first line of the text form. */
static char *headline_text(const gpumap_mapping *mapping, const gpumap_report *report)
{
	gpumap_mapping bare = {0};
	struct strbuf buf = {0};
	char *text;

	if (mapping) {
		bare = *mapping;
		bare.visible_count = bare.step_count = bare.batch_count = 0;
		bare.assumption = NULL;
	}
	explain_text(&buf, mapping ? &bare : NULL, report);
	text = strbuf_take(&buf);
	if (text)
		text[strcspn(text, "\n")] = '\0';
	return text;
}

static void headline(struct page *page, const gpumap_mapping *mapping, const char *text)
{
	bool answered = mapping && mapping->answered;
	const struct ink *ink =
		INK(.size = 19, .fill = answered ? COLOUR_INK : COLOUR_ERROR, .bold = true);
	int lines;

	page->y += 24;
	lines = svg_paragraph(page->buf, MARGIN, page->y, ink, inner(page), 3, text);
	page->y += (lines - 1) * svg_leading(ink) + 20;
}

/* How sure the answer is, the mode, what was assumed. */
static void subtitle(struct page *page, const gpumap_mapping *mapping)
{
	static const struct {
		const char *fill, *colour;
	} looks[] = {
		[GPUMAP_CERTAIN] = {"#d8f5ea", COLOUR_CHOSEN},
		[GPUMAP_LIKELY] = {"#dbe6ff", COLOUR_GROUP},
		[GPUMAP_ASSUMED] = {"#e8edf4", "#475569"},
		[GPUMAP_UNDECIDABLE] = {"#fdeccb", COLOUR_UNSURE},
	};
	const gpumap_entry *chosen = mapping->chosen;
	char mode[32];
	int x = MARGIN, lines = 1;

	if (chosen)
		x += svg_pill(page->buf, x, page->y, looks[chosen->certainty].fill,
			      looks[chosen->certainty].colour,
			      gpumap_certainty_name(chosen->certainty)) +
		     8;
	snprintf(mode, sizeof(mode), "mode %.16s", mapping->mode);
	x += svg_pill(page->buf, x, page->y, "#e8edf4", "#475569", mode) + 12;
	if (mapping->assumption) {
		struct strbuf text = {0};

		strbuf_printf(&text, "Assumed: %s", mapping->assumption);
		if (text.text)
			lines = svg_paragraph(page->buf, x, page->y + 13,
					      INK(.size = 13, .fill = COLOUR_MUTED),
					      page->width - MARGIN - x, 3, text.text);
		scratch_free(page->buf, &text);
	}
	page->y += lines * LINE_HEIGHT;
}

/* --- findings --------------------------------------------------------------------- */

static const struct {
	const char *line, *fill, *word;
} severities[] = {
	[GPUMAP_REMARK] = {"#64748b", "#f1f5f9", "Remark"},
	[GPUMAP_WARNING] = {COLOUR_UNSURE, COLOUR_UNSURE_CARD, "Warning"},
	[GPUMAP_ERROR] = {COLOUR_ERROR, COLOUR_ERROR_CARD, "Error"},
};

/* "Error GM009, rule D7, from --device" */
static void finding_head(struct strbuf *buf, const gpumap_finding *finding)
{
	const char *rule = gpumap_finding_str(finding, GPUMAP_FINDING_RULE);
	const char *origin = gpumap_finding_str(finding, GPUMAP_FINDING_ORIGIN);
	int64_t row = gpumap_finding_int(finding, GPUMAP_FINDING_LINE);

	strbuf_printf(buf, "%s %s",
		      severities[gpumap_finding_int(finding, GPUMAP_FINDING_SEVERITY)].word,
		      gpumap_finding_str(finding, GPUMAP_FINDING_ID));
	if (rule)
		strbuf_printf(buf, ", rule %s", rule);
	if (origin)
		strbuf_printf(buf, ", %s", origin);
	if (origin && row > 0)
		strbuf_printf(buf, ":%lld", (long long)row);
}

/* The box is as high as its text, so the text is written aside first. */
static void finding_box(struct page *page, const gpumap_finding *finding)
{
	int64_t severity = gpumap_finding_int(finding, GPUMAP_FINDING_SEVERITY);
	const char *fix = gpumap_finding_str(finding, GPUMAP_FINDING_FIX);
	int x = MARGIN + INSET, width = inner(page) - 2 * INSET, y = page->y + 20;
	struct strbuf head = {0}, body = {0};
	struct box box = {.x = MARGIN, .y = page->y, .width = inner(page)};

	finding_head(&head, finding);
	if (head.text)
		svg_text(&body, x, y,
			 INK(.size = 12, .fill = severities[severity].line, .bold = true), width,
			 head.text);
	y += LINE_HEIGHT * svg_paragraph(&body, x, y + LINE_HEIGHT,
					 INK(.size = 13, .fill = COLOUR_INK), width, 4,
					 gpumap_finding_str(finding, GPUMAP_FINDING_TEXT));
	scratch_free(page->buf, &head);
	if (fix) {
		strbuf_printf(&head, "Remedy: %s", fix);
		if (head.text)
			y += LINE_HEIGHT * svg_paragraph(&body, x, y + LINE_HEIGHT,
							 INK(.size = 13, .fill = COLOUR_MUTED),
							 width, 3, head.text);
	}
	box.height = y + 12 - page->y;
	box.fill = severities[severity].fill;
	box.line = severities[severity].line;
	svg_box(page->buf, &box);
	if (body.text)
		strbuf_add(page->buf, body.text, body.length);
	scratch_free(page->buf, &head);
	scratch_free(page->buf, &body);
	page->y += box.height + 10;
}

/* Findings of the severities from `least` to `most`, the worst first. */
static void findings(struct page *page, const gpumap_report *report, int least, int most)
{
	size_t count = gpumap_report_count(report), shown = 0, left = 0;
	char text[64];

	for (int severity = most; severity >= least; severity--)
		for (size_t i = 0; i < count; i++) {
			const gpumap_finding *f = gpumap_report_get(report, i);

			if (gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY) != severity)
				continue;
			if (shown++ < FEW_FINDINGS)
				finding_box(page, f);
			else
				left++;
		}
	if (left) {
		snprintf(text, sizeof(text), "... %zu more findings", left);
		svg_text(page->buf, MARGIN, page->y + 14, INK(.size = 13, .fill = COLOUR_MUTED),
			 inner(page), text);
		page->y += LINE_HEIGHT;
	}
}

/* --- rules --------------------------------------------------------------------------- */

/* The statements that lost to the step's, struck through; the number of lines. */
static int losers(struct page *page, const gpumap_step *step, int x, int y)
{
	int lines = 0;

	for (size_t i = 0; i < step->loser_count; i++, lines++) {
		const struct loser *loser = &step->losers[i];
		struct strbuf text = {0};

		strbuf_printf(&text, "%s: %s", loser->source,
			      *loser->value ? loser->value : "(empty)");
		if (i + 1 >= FEW_LOSERS && i + 1 < step->loser_count) {
			scratch_free(page->buf, &text);
			strbuf_printf(&text, "%zu more", step->loser_count - i);
			i = step->loser_count;
		}
		svg_text(page->buf, x, y, INK(.size = 12, .fill = COLOUR_MUTED), 40, "over");
		if (text.text)
			svg_text(page->buf, x + 38, y,
				 INK(.size = 12, .fill = COLOUR_ERROR, .mono = true,
				     .strike = i < step->loser_count),
				 page->width - MARGIN - x - 38, text.text);
		scratch_free(page->buf, &text);
		y += LINE_HEIGHT;
	}
	return lines;
}

static void step(struct page *page, const gpumap_step *step)
{
	int x = MARGIN + RULE_WIDTH, right = page->width - MARGIN, lines;

	svg_pill(page->buf, MARGIN, page->y, "#e8edf4", COLOUR_INK, step->rule);
	if (step->origin)
		svg_text(page->buf, right, page->y + 13,
			 INK(.size = 12, .fill = COLOUR_MUTED, .mono = true, .right = true),
			 ORIGIN_WIDTH, step->origin);
	lines = svg_paragraph(page->buf, x, page->y + 13, INK(.size = 13, .fill = COLOUR_INK),
			      right - x - (step->origin ? ORIGIN_WIDTH + 20 : 0), 3, step->text);
	lines += losers(page, step, x, page->y + 13 + lines * LINE_HEIGHT);
	page->y += lines * LINE_HEIGHT + 5;
}

static void title(struct page *page, const char *text)
{
	strbuf_printf(page->buf, "<path d=\"M%d %dH%d\" stroke=\"%s\"/>\n", MARGIN, page->y,
		      page->width - MARGIN, COLOUR_PALE_LINE);
	svg_text(page->buf, MARGIN, page->y + 26, INK(.size = 14, .fill = COLOUR_INK, .bold = true),
		 inner(page), text);
	page->y += 40;
}

static void why(struct page *page, const gpumap_mapping *mapping)
{
	char text[64];

	title(page, "Why");
	for (size_t i = 0; i < mapping->step_count && i < FEW_STEPS; i++)
		step(page, &mapping->steps[i]);
	if (mapping->step_count > FEW_STEPS) {
		snprintf(text, sizeof(text), "... %zu more", mapping->step_count - FEW_STEPS);
		svg_text(page->buf, MARGIN + RULE_WIDTH, page->y + 13,
			 INK(.size = 13, .fill = COLOUR_MUTED), inner(page), text);
		page->y += LINE_HEIGHT;
	}
}

/* --- all of it ----------------------------------------------------------------------- */

static void draw(struct page *page, const gpumap_mapping *mapping, const gpumap_report *report,
		 const struct columns *columns, const char *text)
{
	headline(page, mapping, text);
	if (mapping)
		subtitle(page, mapping);
	page->y += SECTION - 8;
	findings(page, report, GPUMAP_ERROR, GPUMAP_ERROR);
	if (columns->count) {
		page->y = devices_draw(page->buf, columns, page->y + 8);
		page->y += 18;
	}
	if (mapping && mapping->step_count) {
		why(page, mapping);
		page->y += 8;
	}
	findings(page, report, GPUMAP_REMARK, GPUMAP_WARNING);
}

static void frame(struct strbuf *buf, const struct page *page, const char *text)
{
	int height = page->y + MARGIN - 10;

	strbuf_printf(buf,
		      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		      "viewBox=\"0 0 %d %d\" role=\"img\" xml:space=\"preserve\" "
		      "font-family=\"Inter,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',"
		      "sans-serif\"><title>",
		      page->width, height, page->width, height);
	svg_escape(buf, text, strnlen(text, 1024));
	strbuf_printf(buf, "</title>\n<rect width=\"%d\" height=\"%d\" rx=\"12\" fill=\"%s\"/>\n",
		      page->width, height, COLOUR_PAPER);
	if (page->buf->text)
		strbuf_add(buf, page->buf->text, page->buf->length);
	strbuf_puts(buf, "</svg>\n");
}

void explain_svg(struct strbuf *buf, const gpumap_mapping *mapping, const gpumap_report *report)
{
	char *text = headline_text(mapping, report);
	struct columns columns = {0};
	struct strbuf body = {0};
	struct page page = {.buf = &body, .width = MIN_WIDTH, .y = MARGIN - 8};

	if (mapping)
		columns_make(&columns, mapping);
	if (columns.count && !columns.failed) {
		int width = devices_width(&columns) + 2 * MARGIN;

		page.width = width > MIN_WIDTH ? width : MIN_WIDTH;
		devices_place(&columns, MARGIN, inner(&page));
	}
	if (text && !columns.failed) {
		draw(&page, mapping, report, &columns, text);
		frame(buf, &page, text);
	}
	buf->failed = buf->failed || !text || columns.failed;
	scratch_free(buf, &body);
	columns_free(&columns);
	free(text);
}
