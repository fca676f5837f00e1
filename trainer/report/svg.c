/* SPDX-License-Identifier: MIT */
/* See svg.h. */
#include "report/svg.h"

#include <string.h>

#include "report/format.h"
#include "xml.h"

/* Greys and colours with a contrast of 3 or more to both white and black. */
static const char common[] = "text{font:12px sans-serif;fill:#777}.title{font-size:15px;"
			     "font-weight:bold}.small{font-size:11px}.end{text-anchor:end}"
			     ".middle{text-anchor:middle}.axis{stroke:#777;stroke-width:1}"
			     ".faint{stroke:#888;stroke-width:1;stroke-opacity:.25}"
			     "path{fill:none;stroke-linejoin:round;stroke-linecap:round}";

bool drawing_open(struct svg *svg, const char *name, int width, int height, const char *style,
		  struct train_error *error)
{
	*svg = (struct svg){.began = false};
	if (!atomic_stream_open(&svg->file, name, error))
		return false;
	fprintf(svg->file.stream,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\">\n<style>%s%s</style>\n",
		width, height, width, height, common, style);
	return true;
}

bool drawing_close(struct svg *svg, struct train_error *error)
{
	fputs("</svg>\n", svg->file.stream);
	return atomic_stream_close(&svg->file, error);
}

static void put(struct svg *svg, const char *text)
{
	fputs(text, svg->file.stream);
}

static void put_number(struct svg *svg, const char *before, double value)
{
	char text[NUMBER_TEXT];

	put(svg, before);
	put(svg, number_fixed(text, value, 2));
}

static void put_escaped(struct svg *svg, const char *text)
{
	for (struct span rest = span_of(text); rest.length;) {
		struct span s = xml_next(&rest);

		fwrite(s.text, 1, s.length, svg->file.stream);
	}
}

static void put_class(struct svg *svg, const char *class)
{
	if (class[0])
		fprintf(svg->file.stream, "\" class=\"%s", class);
}

void drawing_text(struct svg *svg, double x, double y, const char *class, const char *text)
{
	put_number(svg, "<text x=\"", x);
	put_number(svg, "\" y=\"", y);
	put_class(svg, class);
	put(svg, "\">");
	put_escaped(svg, text);
	put(svg, "</text>\n");
}

void drawing_text_upwards(struct svg *svg, double x, double y, const char *text)
{
	put_number(svg, "<text class=\"middle\" transform=\"translate(", x);
	put_number(svg, " ", y);
	put(svg, ") rotate(-90)\">");
	put_escaped(svg, text);
	put(svg, "</text>\n");
}

void drawing_rect(struct svg *svg, double x, double y, double width, double height,
		  const char *class, const char *hint)
{
	put_number(svg, "<rect x=\"", x);
	put_number(svg, "\" y=\"", y);
	put_number(svg, "\" width=\"", width);
	put_number(svg, "\" height=\"", height);
	put_class(svg, class);
	if (!hint) {
		put(svg, "\"/>\n");
		return;
	}
	put(svg, "\"><title>");
	put_escaped(svg, hint);
	put(svg, "</title></rect>\n");
}

void drawing_line(struct svg *svg, double x, double y, double to_x, double to_y, const char *class)
{
	put_number(svg, "<line x1=\"", x);
	put_number(svg, "\" y1=\"", y);
	put_number(svg, "\" x2=\"", to_x);
	put_number(svg, "\" y2=\"", to_y);
	put_class(svg, class);
	put(svg, "\"/>\n");
}

void drawing_dot(struct svg *svg, double x, double y, double radius, const char *class)
{
	put_number(svg, "<circle cx=\"", x);
	put_number(svg, "\" cy=\"", y);
	put_number(svg, "\" r=\"", radius);
	put_class(svg, class);
	put(svg, "\"/>\n");
}

void drawing_cross(struct svg *svg, double x, double y, double radius, const char *class)
{
	drawing_path_begin(svg, class);
	drawing_path_point(svg, x - radius, y - radius);
	drawing_path_point(svg, x + radius, y + radius);
	drawing_path_gap(svg);
	drawing_path_point(svg, x - radius, y + radius);
	drawing_path_point(svg, x + radius, y - radius);
	drawing_path_end(svg);
}

void drawing_path_begin(struct svg *svg, const char *class)
{
	fprintf(svg->file.stream, "<path class=\"%s\" d=\"", class);
	svg->began = false;
}

void drawing_path_point(struct svg *svg, double x, double y)
{
	put_number(svg, svg->began ? "L" : "M", x);
	put_number(svg, " ", y);
	svg->began = true;
}

void drawing_path_gap(struct svg *svg)
{
	svg->began = false;
}

void drawing_path_end(struct svg *svg)
{
	put(svg, "\"/>\n");
}
