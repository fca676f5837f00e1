/* SPDX-License-Identifier: MIT */
/* See strbuf.h. */
#include "strbuf.h"

#include <stdio.h>

void strbuf_free(struct strbuf *buf)
{
	free(buf->text);
	memset(buf, 0, sizeof(*buf));
}

static bool fail(struct strbuf *buf)
{
	memory_ran_out();
	buf->failed = true;
	return false;
}

static bool grow(struct strbuf *buf, size_t extra)
{
	size_t need, room;
	char *text;

	if (buf->failed || __builtin_add_overflow(buf->length, extra, &need) ||
	    need >= SIZE_MAX / 2)
		return fail(buf);
	if (need < buf->room)
		return true;
	room = buf->room ? buf->room * 2 : 256;
	if (room <= need)
		room = need + 1;
	text = realloc(buf->text, room);
	if (!text)
		return fail(buf);
	buf->text = text;
	buf->room = room;
	return true;
}

void strbuf_add(struct strbuf *buf, const char *text, size_t length)
{
	if (!grow(buf, length))
		return;
	if (length) /* an empty piece may have no text */
		memcpy(buf->text + buf->length, text, length);
	buf->length += length;
	buf->text[buf->length] = '\0';
}

void strbuf_puts(struct strbuf *buf, const char *text)
{
	strbuf_add(buf, text, strlen(text));
}

void strbuf_vprintf(struct strbuf *buf, const char *format, va_list args)
{
	va_list again;
	int length;

	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0 ? !fail(buf) : !grow(buf, (size_t)length))
		return;
	vsnprintf(buf->text + buf->length, (size_t)length + 1, format, args);
	buf->length += (size_t)length;
}

void strbuf_printf(struct strbuf *buf, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	strbuf_vprintf(buf, format, args);
	va_end(args);
}

char *strbuf_take(struct strbuf *buf)
{
	char *text = NULL;

	if (!buf->text && !buf->failed)
		strbuf_add(buf, "", 0);
	if (!buf->failed) {
		text = buf->text;
		buf->text = NULL;
	}
	strbuf_free(buf);
	return text;
}

char *strbuf_keep(struct strbuf *buf, struct arena *arena)
{
	char *text = arena_strndup(arena, buf->text ? buf->text : "", buf->length);

	arena->failed = arena->failed || buf->failed;
	strbuf_free(buf);
	return arena->failed ? NULL : text;
}
