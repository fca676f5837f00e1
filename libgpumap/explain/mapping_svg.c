/* SPDX-License-Identifier: MIT */
/* A mapping as a picture: the headline, errors, devices, rules, warnings. */
#include "explain/explain.h"
#include "explain/svg.h"

enum {
	RULE_WIDTH = 58,
	FEW_STEPS = 40,
	FEW_LOSERS = 8,
};

/* --- head ---------------------------------------------------------------------- */

/* What "assumed" and "likely" stand for here. */
static void explain_certainty(struct strbuf *buf, const gpumap_mapping *mapping)
{
	if (mapping->assumption)
		strbuf_printf(buf, "Assumed: %s", mapping->assumption);
	for (size_t i = 0; i < mapping->step_count; i++)
		if (streq(mapping->steps[i].rule, "N4") &&
		    strstr(mapping->steps[i].text,
			   gpumap_certainty_name(GPUMAP_CERTAINTY_LIKELY))) {
			strbuf_printf(buf,
				      "%sLikely: it depends on the order of these GPUs, which is "
				      "not documented.",
				      buf->length ? " " : "");
			return;
		}
}

/* Certainty, mode, and assumptions. */
static void subtitle(struct page *page, const gpumap_mapping *mapping)
{
	static const struct {
		const char *fill, *colour;
	} looks[] = {
		[GPUMAP_CERTAINTY_CERTAIN] = {"#d8f5ea", COLOUR_CHOSEN},
		[GPUMAP_CERTAINTY_LIKELY] = {"#dbe6ff", COLOUR_GROUP},
		[GPUMAP_CERTAINTY_ASSUMED] = {"#e8edf4", "#475569"},
		[GPUMAP_CERTAINTY_UNDECIDABLE] = {"#fdeccb", COLOUR_UNSURE},
	};
	const gpumap_entry *chosen = mapping->chosen;
	struct strbuf text = {0};
	int x = MARGIN, lines = 1;

	if (chosen)
		x += svg_pill(page->buf, x, page->y, looks[chosen->certainty].fill,
			      looks[chosen->certainty].colour,
			      gpumap_certainty_name(chosen->certainty)) +
		     8;
	x += svg_pill(page->buf, x, page->y, "#e8edf4", "#475569",
		      FORMAT("mode %.16s", mapping->mode)) +
	     12;
	explain_certainty(&text, mapping);
	if (text.text)
		lines = svg_paragraph(page->buf, x, page->y + 13,
				      INK(.size = 13, .fill = COLOUR_MUTED),
				      page->width - MARGIN - x, MAX_LINES, text.text);
	scratch_free(page->buf, &text);
	page->y += lines * LINE_HEIGHT + 18;
}

/* --- rules --------------------------------------------------------------------------- */

/* The statements that the step's statement overruled, struck through. Returns the number of lines.
 */
static int losers(struct page *page, const gpumap_step *step, int x, int y)
{
	int lines = 0, n;

	for (size_t i = 0; i < step->loser_count; i++, lines += n) {
		const struct loser *loser = &step->losers[i];
		struct strbuf text = {0};

		put_loser(&text, loser);
		if (i + 1 >= FEW_LOSERS && i + 1 < step->loser_count) {
			scratch_free(page->buf, &text);
			strbuf_printf(&text, "%zu more", step->loser_count - i);
			i = step->loser_count;
		}
		svg_text(page->buf, x, y, INK(.size = 12, .fill = COLOUR_MUTED), 40, "over");
		n = 1;
		if (text.text)
			n = svg_paragraph(page->buf, x + 38, y,
					  INK(.size = 12, .fill = COLOUR_ERROR, .mono = true,
					      .strike = i < step->loser_count),
					  page->width - MARGIN - x - 38, MAX_LINES, text.text);
		scratch_free(page->buf, &text);
		y += n * LINE_HEIGHT;
	}
	return lines;
}

static void step(struct page *page, const gpumap_step *step)
{
	const int max_origin = page_inner(page) / 2;
	int x = MARGIN + RULE_WIDTH, right = page->width - MARGIN, taken = 0, lines;

	svg_pill(page->buf, MARGIN, page->y, "#e8edf4", COLOUR_INK, step->rule);
	if (step->origin)
		taken = 20 +
			svg_text(page->buf, right, page->y + 13,
				 INK(.size = 12, .fill = COLOUR_MUTED, .mono = true, .right = true),
				 max_origin, step->origin);
	if (taken > max_origin + 20)
		taken = max_origin + 20;
	lines = svg_paragraph(page->buf, x, page->y + 13, INK(.size = 13, .fill = COLOUR_INK),
			      right - x - taken, MAX_LINES, step->text);
	lines += losers(page, step, x, page->y + 13 + lines * LINE_HEIGHT);
	page->y += lines * LINE_HEIGHT + 5;
}

static void title(struct page *page, const char *text)
{
	strbuf_printf(page->buf, "<path d=\"M%d %dH%d\" stroke=\"%s\"/>\n", MARGIN, page->y,
		      page->width - MARGIN, COLOUR_PALE_LINE);
	svg_text(page->buf, MARGIN, page->y + 26, INK(.size = 14, .fill = COLOUR_INK, .bold = true),
		 page_inner(page), text);
	page->y += 40;
}

static void why(struct page *page, const gpumap_mapping *mapping)
{
	title(page, "Why");
	for (size_t i = 0; i < mapping->step_count && i < FEW_STEPS; i++)
		step(page, &mapping->steps[i]);
	if (mapping->step_count > FEW_STEPS) {
		svg_text(page->buf, MARGIN + RULE_WIDTH, page->y + 13,
			 INK(.size = 13, .fill = COLOUR_MUTED), page_inner(page),
			 FORMAT("... %zu more", mapping->step_count - FEW_STEPS));
		page->y += LINE_HEIGHT;
	}
}

/* --- all of it ----------------------------------------------------------------------- */

static void draw(struct page *page, const gpumap_mapping *mapping, const gpumap_report *report,
		 const struct columns *columns, const char *text)
{
	/* The cause is in the box of the error, not twice. */
	if (first_error(report) && starts_with(text, "No answer:"))
		text = "No answer";
	page_headline(page, mapping && mapping->answered, text);
	page_findings(page, report, GPUMAP_SEVERITY_ERROR, GPUMAP_SEVERITY_ERROR);
	if (mapping)
		subtitle(page, mapping);
	if (columns->count) {
		page->y = devices_draw(page->buf, columns, page->y + 8);
		page->y += 18;
	}
	if (mapping && mapping->step_count) {
		why(page, mapping);
		page->y += 8;
	}
	page_findings(page, report, GPUMAP_SEVERITY_REMARK, GPUMAP_SEVERITY_WARNING);
}

void mapping_svg(struct strbuf *buf, const gpumap_mapping *mapping, const gpumap_report *report)
{
	struct strbuf text = {0};
	struct columns columns = {0};
	struct strbuf body = {0};
	struct page page = {.buf = &body, .width = MIN_WIDTH, .y = MARGIN - 8};

	mapping_headline(&text, mapping, report);
	if (mapping)
		columns_make(&columns, mapping);
	if (columns.count && !columns.failed) {
		int width = devices_width(&columns);

		page.width = width + 2 * MARGIN > MIN_WIDTH ? width + 2 * MARGIN : MIN_WIDTH;
		devices_place(&columns, MARGIN, page_inner(&page) - width);
	}
	if (text.text && !columns.failed) {
		draw(&page, mapping, report, &columns, text.text);
		page_frame(buf, &page, text.text);
	}
	buf->failed = buf->failed || columns.failed;
	scratch_free(buf, &text);
	scratch_free(buf, &body);
	columns_free(&columns);
}
