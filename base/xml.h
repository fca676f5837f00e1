/* SPDX-License-Identifier: MIT */
#ifndef GM_XML_H
#define GM_XML_H

#include "text.h"

/* U+FFFD, which stands for what is not shown. */
#define REPLACEMENT "\xef\xbf\xbd"

/* What stands in XML for the first character of *rest, which is taken off and must not be empty:
 * the character, an entity for markup, or U+FFFD where utf8_next does not show it. */
struct span xml_next(struct span *rest);

/* Appends the text in XML, within an element or an attribute in double quotes. */
void xml_escape(struct strbuf *buf, struct span text);

#endif
