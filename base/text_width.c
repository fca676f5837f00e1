/* SPDX-License-Identifier: MIT */
/* See text_width.h. */
#include "text_width.h"

#include "text.h"
#include "xml.h"

/* In thousandths of the font's size, for the widest of the common fonts. */
static int character_width(struct font font, const char *text, size_t n)
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
	if (font.mono)
		return 603;
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (strchr(classes[i].characters, *text)) {
			width = classes[i].width;
			break;
		}
	return font.bold ? width * 110 / 100 : width;
}

/* Takes the first character off. Pictures have U+FFFD for characters that are not shown. */
static int take_width(struct font font, const char *text, size_t length, size_t *n)
{
	bool shown;

	*n = utf8_next(text, length, &shown);
	return character_width(font, shown ? text : REPLACEMENT, shown ? *n : 3);
}

int text_width(struct font font, const char *text, size_t length)
{
	int width = 0;

	for (size_t i = 0, n; i < length && width <= 1 << 24; i += n)
		width += take_width(font, text + i, length - i, &n);
	return (width * font.size + 999) / 1000;
}

size_t text_fit(struct font font, const char *text, size_t length, int width)
{
	int64_t left = (int64_t)width * 1000;
	size_t i = 0, n;

	while (i < length) {
		left -= take_width(font, text + i, length - i, &n) * font.size;
		if (left < 0)
			break;
		i += n;
	}
	return i;
}

size_t text_cut(struct font font, const char *text, size_t length, int width)
{
	size_t n = text_fit(font, text, length, width);

	if (n == length)
		return n;
	return text_fit(font, text, length, width - text_width(font, ELLIPSIS, strlen(ELLIPSIS)));
}
