/* SPDX-License-Identifier: MIT */
/* See style.h. */
#include "style.h"

const char *style_code(bool styled, enum style style)
{
	static const char *const codes[] = {
		[STYLE_PLAIN] = "\033[0m",   [STYLE_ANSWER] = "\033[1m",
		[STYLE_HEADING] = "\033[1m", [STYLE_MARK] = "\033[1;32m",
		[STYLE_RULE] = "\033[36m",   [STYLE_FAINT] = "\033[2m",
		[STYLE_REMARK] = "\033[36m", [STYLE_WARNING] = "\033[33m",
		[STYLE_ERROR] = "\033[31m",
	};

	return styled ? codes[style] : "";
}

void style_set(struct strbuf *buf, enum style style)
{
	strbuf_puts(buf, style_code(buf->styled, style));
}

void style_puts(struct strbuf *buf, enum style style, const char *text)
{
	style_set(buf, style);
	strbuf_puts(buf, text);
	style_set(buf, STYLE_PLAIN);
}
