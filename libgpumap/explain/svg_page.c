/* SPDX-License-Identifier: MIT */
/* The parts of every picture: headline, findings, and the frame. */
#include "explain/svg.h"

#include "xml.h"

enum { INSET = 14, FEW_FINDINGS = 20 };

void page_headline(struct page *page, bool good, const char *text)
{
	const struct ink *ink =
		INK(.size = 19, .fill = good ? COLOUR_INK : COLOUR_ERROR, .bold = true);
	int lines;

	page->y += 24;
	lines = svg_paragraph(page->buf, MARGIN, page->y, ink, page_inner(page), MAX_LINES, text);
	page->y += (lines - 1) * svg_leading(ink) + 20;
}

static const struct {
	const char *line, *fill, *word;
} severities[] = {
	[GPUMAP_SEVERITY_REMARK] = {"#64748b", "#f1f5f9", "Remark"},
	[GPUMAP_SEVERITY_WARNING] = {COLOUR_UNSURE, COLOUR_UNSURE_CARD, "Warning"},
	[GPUMAP_SEVERITY_ERROR] = {COLOUR_ERROR, COLOUR_ERROR_CARD, "Error"},
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

/* The box is as high as its text, so the text is written into a buffer first. */
static void finding_box(struct page *page, const gpumap_finding *finding)
{
	int64_t severity = gpumap_finding_int(finding, GPUMAP_FINDING_SEVERITY);
	const char *fix = gpumap_finding_str(finding, GPUMAP_FINDING_FIX);
	bool error = severity == GPUMAP_SEVERITY_ERROR;
	const struct ink *cause = INK(.size = error ? 16 : 13, .fill = COLOUR_INK, .bold = error);
	const struct ink *remedy =
		INK(.size = error ? 14 : 13, .fill = error ? COLOUR_INK : COLOUR_MUTED);
	int x = MARGIN + INSET, width = page_inner(page) - 2 * INSET, y = page->y + 20;
	struct strbuf head = {0}, body = {0};
	struct box box = {.x = MARGIN, .y = page->y, .width = page_inner(page)};

	finding_head(&head, finding);
	if (head.text)
		svg_text(&body, x, y,
			 INK(.size = 12, .fill = severities[severity].line, .bold = true), width,
			 head.text);
	y += svg_leading(cause) * svg_paragraph(&body, x, y + svg_leading(cause), cause, width,
						MAX_LINES,
						gpumap_finding_str(finding, GPUMAP_FINDING_TEXT));
	scratch_free(page->buf, &head);
	if (fix) {
		strbuf_printf(&head, "Remedy: %s", fix);
		if (head.text)
			y += svg_leading(remedy) * svg_paragraph(&body, x, y + svg_leading(remedy),
								 remedy, width, MAX_LINES,
								 head.text);
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

/* Findings of the severities from `least` to `max`, the worst first. */
void page_findings(struct page *page, const gpumap_report *report, int least, int max)
{
	size_t count = gpumap_report_count(report), shown = 0, left = 0;

	for (int severity = max; severity >= least; severity--)
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
		svg_text(page->buf, MARGIN, page->y + 14, INK(.size = 13, .fill = COLOUR_MUTED),
			 page_inner(page), FORMAT("... %zu more findings", left));
		page->y += LINE_HEIGHT;
	}
}

void page_frame(struct strbuf *buf, const struct page *page, const char *text)
{
	int height = page->y + MARGIN - 10;

	strbuf_printf(buf,
		      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		      "viewBox=\"0 0 %d %d\" role=\"img\" xml:space=\"preserve\" "
		      "font-family=\"Inter,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',"
		      "sans-serif\"><title>",
		      page->width, height, page->width, height);
	xml_escape(buf, (struct span){text, strnlen(text, 1024)});
	strbuf_printf(buf, "</title>\n<rect width=\"%d\" height=\"%d\" rx=\"12\" fill=\"%s\"/>\n",
		      page->width, height, COLOUR_PAPER);
	if (page->buf->text)
		strbuf_add(buf, page->buf->text, page->buf->length);
	strbuf_puts(buf, "</svg>\n");
}
