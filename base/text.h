/* SPDX-License-Identifier: MIT */
/* Small functions for text. All are locale-independent. */
#ifndef GM_TEXT_H
#define GM_TEXT_H

#include "base.h"

struct strbuf;

/* A piece of a text that another object owns. */
struct span {
	const char *text;
	size_t length;
};

/* Space, tab, newline, vertical tab, form feed, return. */
static inline bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static inline char lower(char c)
{
	return is_upper(c) ? (char)(c + 32) : c;
}

static inline bool is_letter(char c)
{
	return lower(c) >= 'a' && lower(c) <= 'z';
}

static inline bool is_alphanumeric(char c)
{
	return is_digit(c) || is_letter(c);
}

static inline bool is_hex(char c)
{
	return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f');
}

#define NO_SPAN ((struct span){NULL, 0})

/* The part of s that begins at `from`, or ends before `to`, which are places in s. */
static inline struct span span_from(struct span s, const char *from)
{
	return (struct span){from, (size_t)(s.text + s.length - from)};
}

static inline struct span span_to(struct span s, const char *to)
{
	return (struct span){s.text, (size_t)(to - s.text)};
}

struct span span_of(const char *text);
/* What is left of it behind its first `n` bytes. */
static inline struct span span_behind(struct span s, size_t n)
{
	return (struct span){s.text + n, s.length - n};
}
struct span span_trim(struct span s);
/* Most differ in the first letter. */
bool span_is_all(struct span s, const char *text);
static inline bool span_is(struct span s, const char *text)
{
	return s.length && *s.text == *text ? span_is_all(s, text) : !s.length && !*text;
}
bool span_same(struct span a, struct span b);
bool span_starts(struct span s, const char *prefix);
/* Moves the beginning behind the prefix. False: it does not begin with it. */
bool span_skip(struct span *s, const char *prefix);
/* Whether it begins with the byte order mark of UTF-16. */
bool span_is_utf16(struct span s);
/* Whether a text ends with `end`. */
bool text_ends(const char *text, const char *end);
/* Whether a path is that of a FILE.py. */
bool is_python_file(struct span path);
/* What follows the last slash of a path; the path itself if it has none. */
const char *file_name(const char *path);
struct span base_name(struct span path);
/* Whether the pattern matches `text`: * matches any text, ? any character. */
bool span_glob(struct span pattern, const char *text);

/* The first place of `text` in `s`; NULL: it is not there. */
const char *span_find(struct span s, const char *text);
bool span_has(struct span s, const char *text);
/* How many bytes of `s` stand before the first of these signs; all, if it has none of them. */
size_t span_before(struct span s, const char *signs);
/* How many digits it begins with. */
size_t span_digits(struct span s);
/* Moves the beginning behind the first place of `text`. False: it is not there. */
bool span_skip_to(struct span *s, const char *text);

/* Whether `s` is one of `words`, which are separated by blanks, or begins with one, or has one in
 * it. In span_has_any() the letter case of `s` is ignored; the words have to be in lower case. */
bool span_is_any(struct span s, const char *words);
bool span_starts_any(struct span s, const char *words);
bool span_has_any(struct span s, const char *words);

/* Whether `s` is one of `words`. Letter case is ignored, and _ counts as -. */
bool span_among(struct span s, const char *words);

/* Moves the piece before the next `separator` from *rest to *piece. False if no piece is left.
 * "a,,b" gives "a", "" and "b"; "" gives one "". At the first call rest->text must not be NULL. */
bool span_split(struct span *rest, char separator, struct span *piece);

/* The whole span as a decimal number from 0 to `max`, digits only; -1 if it is anything else. */
int64_t span_number(struct span s, int64_t max);

/* Appends a list of numbers for people: three or more that follow one another become a range, as in
 * "0-7,2". Other entries stay as they are. */
void fold_numbers(struct strbuf *buf, struct span list);

/* Appends the text. Bytes of characters that utf8_next() does not show are written as \xNN. */
void escape_to(struct strbuf *buf, const char *text, size_t length);
void escape_all(struct strbuf *buf, const char *text);
/* The same as a copy, which the caller frees. NULL for NULL, or if memory ran out. */
char *escaped_copy(const char *text);

/* Escaped text for a message, kept in `ret`. If it has more than 200 bytes, it is cut and ends with
 * "...". */
struct quoted {
	char text[832];
};
const char *quote(struct quoted *ret, struct span s);
#define QUOTE(s) quote(&(struct quoted){{0}}, s)

/* Formatted text for a message, kept in `ret`; what it has no room for is cut. */
const char *format_text(struct quoted *ret, const char *format, ...) PRINTF(2, 3);
#define FORMAT(...) format_text(&(struct quoted){{0}}, __VA_ARGS__)

/* Whether an entry of an environment, NAME=VALUE or NAME alone, has this name. */
bool entry_is_named(const char *entry, const char *name);
/* The value of a variable in an environment; NULL: it is not set. `envp` may be NULL. */
const char *environ_find(const char *const *envp, const char *name);
/* The same, but NULL also if the value is empty. */
const char *environ_nonempty(const char *const *envp, const char *name);

/* The length of the valid UTF-8 sequence at text; 0 if it is invalid. */
size_t utf8_length(const char *text, size_t length);

/* Writes a character as UTF-8; returns how many bytes it has. */
size_t utf8_encode(char ret[4], uint32_t character);

/* The length of the character at text; 1 if it is not UTF-8. *shown is whether people can see it in
 * a line. It is false for control characters, for characters that reorder or break the line or have
 * no width, and for U+FFFE and U+FFFF. */
size_t utf8_next(const char *text, size_t length, bool *shown);

#endif
