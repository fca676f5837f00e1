/* SPDX-License-Identifier: MIT */
#ifndef GM_XML_H
#define GM_XML_H

#include "text.h"

/* U+FFFD, which replaces characters that cannot be shown. */
#define REPLACEMENT "\xef\xbf\xbd"

/* Takes the first character off *rest, which must not be empty, and returns its XML: the character,
 * an entity for markup, or U+FFFD if utf8_next() does not show it. */
struct span xml_next(struct span *rest);

/* Appends the text as XML, for an element or an attribute in double quotes. */
void xml_escape(struct strbuf *buf, struct span text);

#endif
