/* SPDX-License-Identifier: MIT */
/* See text_cells.h. */
#include "text_cells.h"

#include "text.h"

/* Of Unicode's East Asian Width: the blocks in which characters are wide. */
static const struct {
	uint32_t first, last;
} wide[] = {
	{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
	{0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},
	{0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
	{0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

static uint32_t code_point(const char *text, size_t n)
{
	const unsigned char *c = (const unsigned char *)text;
	uint32_t code = n == 1 ? *c : *c & (0xffu >> (n + 1));

	for (size_t i = 1; i < n; i++)
		code = code << 6 | (c[i] & 0x3f);
	return code;
}

/* Takes the first character off: its bytes in *n. */
static size_t take_cells(const char *text, size_t length, size_t *n)
{
	bool shown;
	uint32_t code;

	*n = utf8_next(text, length, &shown);
	code = code_point(text, *n);
	for (size_t i = 0; i < ARRAY_SIZE(wide); i++)
		if (code >= wide[i].first && code <= wide[i].last)
			return 2;
	return 1;
}

size_t text_cells(const char *text, size_t length)
{
	size_t cells = 0;

	for (size_t i = 0, n; i < length; i += n)
		cells += take_cells(text + i, length - i, &n);
	return cells;
}

size_t text_cells_fit(const char *text, size_t length, size_t cells)
{
	size_t i = 0, n;

	while (i < length) {
		size_t more = take_cells(text + i, length - i, &n);

		if (more > cells)
			break;
		cells -= more;
		i += n;
	}
	return i;
}

void text_cells_put(struct strbuf *buf, const char *text, size_t cells)
{
	static const char mark[] = "...";
	size_t length = strlen(text), n = text_cells_fit(text, length, cells);
	size_t room = cells < strlen(mark) ? cells : strlen(mark);

	if (n == length) {
		strbuf_add(buf, text, length);
		return;
	}
	strbuf_add(buf, text, text_cells_fit(text, length, cells - room));
	strbuf_add(buf, mark, room);
}

void text_cells_pad(struct strbuf *buf, const char *text, size_t cells, bool right)
{
	struct strbuf cut = {0};
	size_t used;

	text_cells_put(&cut, text, cells);
	used = cut.length ? text_cells(cut.text, cut.length) : 0;
	if (right)
		strbuf_printf(buf, "%*s", (int)(cells - used), "");
	if (cut.length)
		strbuf_add(buf, cut.text, cut.length);
	if (!right)
		strbuf_printf(buf, "%*s", (int)(cells - used), "");
	buf->failed = buf->failed || cut.failed;
	strbuf_free(&cut);
}
