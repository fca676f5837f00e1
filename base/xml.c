/* SPDX-License-Identifier: MIT */
/* Escapes text for XML. */
#include "xml.h"

#include "strbuf.h"

struct span xml_next(struct span *rest)
{
	bool shown;
	struct span s = {rest->text, utf8_next(rest->text, rest->length, &shown)};

	rest->text += s.length;
	rest->length -= s.length;
	if (!shown)
		return span_of(REPLACEMENT);
	switch (*s.text) {
	case '<':
		return span_of("&lt;");
	case '>':
		return span_of("&gt;");
	case '&':
		return span_of("&amp;");
	case '"':
		return span_of("&quot;");
	default:
		return s;
	}
}

void xml_escape(struct strbuf *buf, struct span text)
{
	while (text.length) {
		struct span s = xml_next(&text);

		strbuf_add(buf, s.text, s.length);
	}
}
