/* SPDX-License-Identifier: MIT */
/* Strokes and text. Attributes and no style sheet, so that pictures can be put into
 * a page beside each other. */
#include "explain/svg.h"

#include "xml.h"

#define MONO "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
#define ELLIPSIS "\xe2\x80\xa6"

/* Thousandths of the font's size, as wide as the widest common fonts draw it. */
static int character_width(const struct ink *ink, const char *text, size_t n)
{
	static const struct {
		const char *characters;
		int width;
	} classes[] = {
		{"ijl", 285},          {"I'", 305},       {" .,:;/|\\!ftr()[]-", 415},
		{"mwMW%@", 995},       {"+=<>~^#&", 845}, {"ABCDEFGHJKLNOPQRSTUVXYZ", 745},
		{"_`\"*sckvxyz", 585},
	};
	int width = 640;

	if (n > 1)
		return (unsigned char)*text >= 0xe1 && memcmp(text, ELLIPSIS, 3) != 0 ? 1100 : 760;
	if (ink->mono)
		return 603;
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (strchr(classes[i].characters, *text)) {
			width = classes[i].width;
			break;
		}
	return ink->bold ? width * 110 / 100 : width;
}

int svg_width(const struct ink *ink, const char *text, size_t length)
{
	int width = 0;

	for (size_t i = 0, n; i < length; i += n) {
		bool shown;

		n = utf8_next(text + i, length - i, &shown);
		width += character_width(ink, shown ? text + i : REPLACEMENT, shown ? n : 3);
		if (width > 1 << 24)
			break;
	}
	return (width * ink->size + 999) / 1000;
}

/* How many bytes fit into the width. */
static size_t fit(const struct ink *ink, const char *text, size_t length, int width)
{
	int64_t left = (int64_t)width * 1000;
	size_t i = 0;

	while (i < length) {
		bool shown;
		size_t n = utf8_next(text + i, length - i, &shown);

		left -= character_width(ink, shown ? text + i : REPLACEMENT, shown ? n : 3) *
			ink->size;
		if (left < 0)
			break;
		i += n;
	}
	return i;
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

static int ellipsis_width(const struct ink *ink)
{
	return svg_width(ink, ELLIPSIS, strlen(ELLIPSIS));
}

void svg_text(struct strbuf *buf, int x, int y, const struct ink *ink, int width, const char *text)
{
	/* Nothing that is shown on one line is longer than this. */
	size_t length = strnlen(text, 4096), n = fit(ink, text, length, width);

	if (n < length)
		n = fit(ink, text, length, width - ellipsis_width(ink));
	line(buf, x, y, ink, text, n, n < length);
}

/* Where a line of at most `n` bytes ends: at a blank, else after a comma. */
static size_t break_before(const char *text, size_t n)
{
	size_t i = n;

	while (i && text[i] != ' ' && text[i - 1] != ',')
		i--;
	return i > n / 3 ? i : n;
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
		size_t n = fit(ink, text, length, width);

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
