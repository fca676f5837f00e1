/* SPDX-License-Identifier: MIT */
/* Strokes and text, by attributes and without a style sheet, so that one page can hold several
 * pictures. */
#include "explain/svg.h"

#include "text_width.h"
#include "xml.h"

#define MONO "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"

static struct font font_of(const struct ink *ink)
{
	return (struct font){ink->size, ink->bold, ink->mono};
}

int svg_width(const struct ink *ink, const char *text, size_t length)
{
	return text_width(font_of(ink), text, length);
}

static void line(struct strbuf *buf, int x, int y, const struct ink *ink, const char *text,
		 size_t length, bool cut)
{
	strbuf_printf(buf, "<text x=\"%d\" y=\"%d\" font-size=\"%d\" fill=\"%s\"", x, y, ink->size,
		      ink->fill);
	strbuf_puts(buf, ink->mono ? " font-family=\"" MONO "\"" : "");
	strbuf_puts(buf, ink->bold ? " font-weight=\"600\"" : "");
	strbuf_puts(buf, ink->strike ? " text-decoration=\"line-through\"" : "");
	strbuf_puts(buf, ink->right ? " text-anchor=\"end\"" : "");
	strbuf_puts(buf, ">");
	xml_escape(buf, (struct span){text, length});
	strbuf_puts(buf, cut ? ELLIPSIS "</text>\n" : "</text>\n");
}

int svg_text(struct strbuf *buf, int x, int y, const struct ink *ink, int width, const char *text)
{
	/* No text on one line is longer than this. */
	size_t length = strnlen(text, 4096), n = text_cut(font_of(ink), text, length, width);

	line(buf, x, y, ink, text, n, n < length);
	return svg_width(ink, text, length);
}

/* Where a line of at most `n` bytes ends: at a blank, else after a comma. */
static size_t break_before(const char *text, size_t n)
{
	size_t blank = n, comma = n;

	while (blank && text[blank] != ' ')
		blank--;
	while (comma && text[comma - 1] != ',')
		comma--;
	if (blank > n / 3)
		return blank;
	return comma > n / 3 ? comma : n;
}

int svg_leading(const struct ink *ink)
{
	return ink->size + 6;
}

int svg_paragraph(struct strbuf *buf, int x, int y, const struct ink *ink, int width, int lines,
		  const char *text)
{
	size_t length = strnlen(text, 65536);
	int written = 0;

	while (written < lines) {
		size_t n = text_fit(font_of(ink), text, length, width);

		if (n == length || written == lines - 1) {
			svg_text(buf, x, y + written * svg_leading(ink), ink, width, text);
			return written + 1;
		}
		n = break_before(text, n);
		if (!n)
			n = 1;
		line(buf, x, y + written * svg_leading(ink), ink, text, n, false);
		written++;
		for (text += n, length -= n; length && *text == ' '; length--)
			text++;
	}
	return written;
}

void svg_box(struct strbuf *buf, const struct box *box)
{
	strbuf_printf(buf,
		      "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"7\" fill=\"%s\" "
		      "stroke=\"%s\" stroke-width=\"%d\"%s/>\n",
		      box->x, box->y, box->width, box->height, box->fill, box->line,
		      box->weight ? box->weight : 1,
		      box->dashed ? " stroke-dasharray=\"5 4\"" : "");
}

static const struct ink *pill_ink(struct ink *ink, const char *colour)
{
	*ink = (struct ink){.size = 11, .fill = colour, .bold = true};
	return ink;
}

int svg_pill_width(const char *text)
{
	struct ink ink;

	return svg_width(pill_ink(&ink, COLOUR_INK), text, strlen(text)) + 14;
}

int svg_pill(struct strbuf *buf, int x, int y, const char *fill, const char *colour,
	     const char *text)
{
	int width = svg_pill_width(text);
	struct ink ink;

	strbuf_printf(buf,
		      "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"18\" rx=\"9\" fill=\"%s\"/>"
		      "<g text-anchor=\"middle\">",
		      x, y, width, fill);
	svg_text(buf, x + width / 2, y + 13, pill_ink(&ink, colour), width, text);
	strbuf_puts(buf, "</g>\n");
	return width;
}
