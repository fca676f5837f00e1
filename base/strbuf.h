/* SPDX-License-Identifier: MIT */
/* A growing string. If memory runs out, `failed` is set and stays set, and strbuf_take() returns
 * NULL. Text is never truncated. */
#ifndef GM_STRBUF_H
#define GM_STRBUF_H

#include "arena.h"

struct strbuf {
	char *text; /* NUL-terminated once anything was added, else NULL */
	size_t length, room;
	bool failed;
	bool styled; /* for a terminal: style.h */
};

void strbuf_free(struct strbuf *buf);
void strbuf_add(struct strbuf *buf, const char *text, size_t length);
void strbuf_puts(struct strbuf *buf, const char *text);
void strbuf_printf(struct strbuf *buf, const char *format, ...) PRINTF(2, 3);
void strbuf_vprintf(struct strbuf *buf, const char *format, va_list args) PRINTF(2, 0);

/* The text, "" if nothing was added; the caller frees it. NULL if memory ran out. The buffer is
 * empty afterwards. */
char *strbuf_take(struct strbuf *buf) MUST_CHECK;
/* The same in an arena, which has failed if memory ran out. */
char *strbuf_keep(struct strbuf *buf, struct arena *arena);

#endif
