/* SPDX-License-Identifier: MIT */
#include "picture.h"

#include <expat.h>
#include <string.h>

#include "unit.h"

static long number(const char **attributes, const char *name)
{
	for (; *attributes; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return strtol(attributes[1], NULL, 10);
	return 0;
}

static bool apart(const struct box *a, const struct box *b)
{
	return a->x + a->width <= b->x || b->x + b->width <= a->x || a->y + a->height <= b->y ||
	       b->y + b->height <= a->y;
}

static bool inside(const struct box *a, const struct box *b)
{
	return a->x >= b->x && a->y >= b->y && a->x + a->width <= b->x + b->width &&
	       a->y + a->height <= b->y + b->height;
}

/* Boxes lie beside each other or in each other, and all in the picture. */
static void see_box(struct picture *seen, const char **attributes)
{
	struct box box = {.x = (int)(number(attributes, "x") + seen->x0),
			  .y = (int)(number(attributes, "y") + seen->y0),
			  .width = (int)number(attributes, "width"),
			  .height = (int)number(attributes, "height")};
	struct box page = {.width = (int)seen->width, .height = (int)seen->height};

	ck_assert_msg(inside(&box, &page), "%s: a box at %d,%d leaves the picture", seen->name,
		      box.x, box.y);
	for (size_t i = 0; i < seen->box_count; i++)
		ck_assert_msg(apart(&box, &seen->boxes[i]) || inside(&box, &seen->boxes[i]),
			      "%s: boxes at %d,%d and %d,%d overlap", seen->name, box.x, box.y,
			      seen->boxes[i].x, seen->boxes[i].y);
	if (seen->box_count < sizeof(seen->boxes) / sizeof(*seen->boxes))
		seen->boxes[seen->box_count++] = box;
}

static bool has(const char **attributes, const char *name, const char *value)
{
	for (; *attributes; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return strstr(attributes[1], value) != NULL;
	return false;
}

static void begin_text(struct picture *seen, const char **attributes)
{
	struct box *box = &seen->texts[seen->text_count++];

	ck_assert_msg(seen->text_count < sizeof(seen->texts) / sizeof(*box), "%s: many texts",
		      seen->name);
	seen->ink = (struct ink){.size = (int)number(attributes, "font-size"),
				 .bold = has(attributes, "font-weight", "600"),
				 .mono = has(attributes, "font-family", "mono"),
				 .right = has(attributes, "text-anchor", "end")};
	seen->begin = seen->text.length;
	box->x = (int)(seen->x0 + number(attributes, "x"));
	box->height = seen->ink.size * 3 / 4;
	box->y = (int)(seen->y0 + number(attributes, "y")) - box->height;
}

static void end_text(struct picture *seen)
{
	struct box *box = &seen->texts[seen->text_count - 1];

	box->width = svg_width(&seen->ink, seen->text.text ? seen->text.text + seen->begin : "",
			       seen->text.length - seen->begin);
	box->x -= seen->ink.right ? box->width : seen->middle ? box->width / 2 : 0;
}

/* Each text is in one box or beside it, and beside all other texts. */
static void check_texts(const struct picture *seen)
{
	struct box page = {.width = (int)seen->width, .height = (int)seen->height};

	for (size_t i = 0; i < seen->text_count; i++) {
		const struct box *text = &seen->texts[i];

		ck_assert_msg(inside(text, &page), "%s: the text at %d,%d leaves the picture",
			      seen->name, text->x, text->y);
		for (size_t k = 0; k < seen->box_count; k++)
			ck_assert_msg(apart(text, &seen->boxes[k]) || inside(text, &seen->boxes[k]),
				      "%s: the text at %d,%d, %d wide, leaves its box", seen->name,
				      text->x, text->y, text->width);
		for (size_t k = 0; k < i; k++)
			ck_assert_msg(apart(text, &seen->texts[k]),
				      "%s: texts at %d,%d and %d,%d overlap", seen->name, text->x,
				      text->y, seen->texts[k].x, seen->texts[k].y);
	}
}

static void start(void *data, const char *element, const char **attributes)
{
	static const char *const known[] = {"svg", "title", "rect", "path", "text", "g"};
	struct picture *seen = data;
	bool allowed = false;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		allowed = allowed || strcmp(element, known[i]) == 0;
	ck_assert_msg(allowed, "%s: no element %s is wanted", seen->name, element);
	for (const char **a = attributes; *a; a += 2)
		ck_assert_msg(strncmp(a[0], "on", 2) != 0 && !strstr(a[0], "href") &&
				      !strstr(a[1], "url("),
			      "%s: %s=%s", seen->name, a[0], a[1]);
	if (strcmp(element, "svg") == 0 && seen->depth == 0) {
		seen->width = number(attributes, "width");
		seen->height = number(attributes, "height");
	} else if (strcmp(element, "svg") == 0) {
		seen->x0 = number(attributes, "x");
		seen->y0 = number(attributes, "y");
	} else if (strcmp(element, "rect") == 0) {
		see_box(seen, attributes);
	} else if (strcmp(element, "g") == 0) {
		seen->middle = has(attributes, "text-anchor", "middle");
	} else if (strcmp(element, "text") == 0) {
		begin_text(seen, attributes);
	}
	seen->in_text = strcmp(element, "text") == 0 || strcmp(element, "title") == 0;
	seen->depth++;
}

static void end(void *data, const char *element)
{
	struct picture *seen = data;

	seen->depth--;
	if (strcmp(element, "svg") == 0)
		seen->x0 = seen->y0 = 0;
	if (strcmp(element, "g") == 0)
		seen->middle = false;
	if (strcmp(element, "text") == 0)
		end_text(seen);
	if (seen->in_text)
		strbuf_puts(&seen->text, "\n");
	seen->in_text = false;
}

static void characters(void *data, const char *text, int length)
{
	struct picture *seen = data;

	if (seen->in_text)
		strbuf_add(&seen->text, text, (size_t)length);
}

char *picture_look(const char *name, const char *svg, struct picture *seen)
{
	XML_Parser parser = XML_ParserCreate(NULL);

	*seen = (struct picture){.name = name};
	ck_assert_ptr_nonnull(parser);
	XML_SetUserData(parser, seen);
	XML_SetElementHandler(parser, start, end);
	XML_SetCharacterDataHandler(parser, characters);
	if (XML_Parse(parser, svg, (int)strlen(svg), 1) != XML_STATUS_OK)
		ck_abort_msg("%s: %s in %s", name, XML_ErrorString(XML_GetErrorCode(parser)), svg);
	XML_ParserFree(parser);
	check_texts(seen);
	ck_assert_msg(svg[strlen(svg) - 1] == '\n', "%s: ends in a newline", name);
	return strbuf_take(&seen->text);
}
