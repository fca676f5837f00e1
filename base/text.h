/* SPDX-License-Identifier: MIT */
/* Small functions for text. All are locale-independent. */
#ifndef GM_TEXT_H
#define GM_TEXT_H

#include "base.h"

struct strbuf;

/* A piece of a text that somebody else owns. */
struct span {
	const char *text;
	size_t length;
};

bool is_blank(char c); /* blank, tab, newline, vertical tab, form feed, return */
bool is_digit(char c);
bool is_hex(char c);

struct span span_of(const char *text);
struct span span_trim(struct span s);
bool span_is(struct span s, const char *text);
bool span_same(struct span a, struct span b);
bool span_starts(struct span s, const char *prefix);
/* Whether the pattern matches `text`: * matches any text, ? any character. */
bool span_glob(struct span pattern, const char *text);

/* Whether it is one of `words`, which are separated by blanks. Case is ignored, and _ counts as -.
 */
bool span_among(struct span s, const char *words);

/* Takes the piece up to the next `separator` off *rest into *piece. False when *rest was already
 * used up. "a,,b" gives "a", "", "b"; "" gives "" once. rest->text must not be NULL at first. */
bool span_split(struct span *rest, char separator, struct span *piece);

/* The whole span as a decimal number from 0 to `max`, digits only; -1 if it is anything else. */
int64_t span_number(struct span s, int64_t max);

/* Appends the text. Bytes of characters that utf8_next() does not show are written as \xNN. */
void escape_to(struct strbuf *buf, const char *text, size_t length);
void escape_all(struct strbuf *buf, const char *text);

/* Escaped text for a message, kept in `ret`. What is longer than 200 bytes is cut with "...". */
struct quoted {
	char text[832];
};
const char *quote(struct quoted *ret, struct span s);
#define QUOTE(s) quote(&(struct quoted){{0}}, s)

/* The value of a variable in an environment; NULL: it is not set. `envp` may be NULL. */
const char *environ_find(const char *const *envp, const char *name);
/* The same, but NULL also if the value is empty. */
const char *environ_nonempty(const char *const *envp, const char *name);

/* The length of the valid UTF-8 sequence at text, 0 when it is invalid. */
size_t utf8_length(const char *text, size_t length);

/* The length of the character at text, 1 if it is not UTF-8. *shown: whether people can see it in a
 * line. Not shown are control characters, what reorders or breaks the line, what has no width, and
 * U+FFFE and U+FFFF. */
size_t utf8_next(const char *text, size_t length, bool *shown);

#endif
