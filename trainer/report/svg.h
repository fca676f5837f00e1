/* SPDX-License-Identifier: MIT */
/* Pictures as SVG 1.1. Coordinates are pixels from the top left corner; a class is one of the
 * style sheet. Errors of writing wait for drawing_close. */
#ifndef TRAIN_REPORT_SVG_H
#define TRAIN_REPORT_SVG_H

#include "report/atomic_stream.h"
#include "text_width.h"

/* Of a text without a class, and of the classes "small" and "title". */
#define SVG_FONT ((struct font){.size = 12})
#define SVG_SMALL ((struct font){.size = 11})
#define SVG_TITLE ((struct font){.size = 15, .bold = true})

struct svg {
	struct atomic_stream file;
	bool began; /* a path has points */
};

/* `style` are rules of CSS besides the common ones: text, title, small, faint (lines of a grid),
 * axis, end and middle (where a text is at its coordinates). The background is not painted: the
 * colours suit light and dark ones. */
bool drawing_open(struct svg *svg, const char *name, int width, int height, const char *style,
		  struct train_error *error);
bool drawing_close(struct svg *svg, struct train_error *error);

/* The text is escaped by xml_next. `hint`, unless NULL, is shown by browsers. */
void drawing_text(struct svg *svg, double x, double y, const char *class, const char *text);
/* Upwards along the left side, its middle at y. */
void drawing_text_upwards(struct svg *svg, double x, double y, const char *text);
void drawing_rect(struct svg *svg, double x, double y, double width, double height,
		  const char *class, const char *hint);
void drawing_line(struct svg *svg, double x, double y, double to_x, double to_y, const char *class);
void drawing_dot(struct svg *svg, double x, double y, double radius, const char *class);
void drawing_cross(struct svg *svg, double x, double y, double radius, const char *class);

/* Points between begin and end are joined; drawing_path_gap begins another line. */
void drawing_path_begin(struct svg *svg, const char *class);
void drawing_path_point(struct svg *svg, double x, double y);
void drawing_path_gap(struct svg *svg);
void drawing_path_end(struct svg *svg);

#endif
