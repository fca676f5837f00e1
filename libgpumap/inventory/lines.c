/* SPDX-License-Identifier: MIT */
/* See lines.h. */
#include "inventory/lines.h"

#include "memory.h"
#include "strbuf.h"

void lines_free(struct lines *lines)
{
	free(lines->decoded);
	free(lines->copy);
	memset(lines, 0, sizeof(*lines));
}

static void put_utf8(struct strbuf *buf, uint32_t c)
{
	char text[4];

	strbuf_add(buf, text, utf8_encode(text, c));
}

/* PowerShell's ">" writes UTF-16. Invalid code units become U+FFFD. */
static bool decode_utf16(struct lines *lines, struct span text)
{
	const unsigned char *s = (const unsigned char *)text.text;
	bool big = s[0] == 0xfe;
	struct strbuf buf = {0};
	uint32_t high = 0;

	for (size_t i = 2; i + 1 < text.length; i += 2) {
		uint32_t c =
			big ? (uint32_t)(s[i] << 8 | s[i + 1]) : (uint32_t)(s[i + 1] << 8 | s[i]);
		bool is_low = c >= 0xdc00 && c < 0xe000;

		if (high)
			put_utf8(&buf, is_low ? 0x10000 + ((high - 0xd800) << 10) + (c - 0xdc00)
					      : 0xfffd);
		if (high && is_low) {
			high = 0;
			continue;
		}
		high = c >= 0xd800 && c < 0xdc00 ? c : 0;
		if (!high)
			put_utf8(&buf, is_low ? 0xfffd : c);
	}
	lines->at.rest.length = buf.length;
	lines->decoded = strbuf_take(&buf);
	lines->at.rest.text = lines->decoded;
	return lines->decoded;
}

bool lines_start(struct lines *lines, struct span text)
{
	memset(lines, 0, sizeof(*lines));
	if (span_is_utf16(text))
		return decode_utf16(lines, text);
	span_skip(&text, "\xef\xbb\xbf");
	lines->at.rest = text;
	return true;
}

/* The length of the colour or cursor code at s, 0 when there is none. Terminals send
 * ESC [ ... letter; copying often loses the ESC, and only "[4m" remains. */
static size_t code_length(const char *s, size_t length)
{
	size_t i = 0;
	bool escape = s[0] == '\033';

	if (escape && ++i == length)
		return i;
	if (s[i] != '[') {
		/* ESC ( B selects a character set, others are two bytes */
		return !escape ? 0 : s[i] == '(' && length > 2 ? 3 : 2;
	}
	for (i++; i < length && (is_digit(s[i]) || s[i] == ';' || (escape && s[i] == '?'));)
		i++;
	if (i == length)
		return escape ? i : 0;
	if (escape)
		return i + 1;
	return (s[i] == 'm' && is_digit(s[i - 1])) || (s[i] == 'K' && i <= 2) ? i + 1 : 0;
}

static bool has_codes(struct span s)
{
	const char *end = s.text + s.length;

	if (s.length && memchr(s.text, '\033', s.length))
		return true;
	for (const char *p = s.text; p < end; p++) {
		p = memchr(p, '[', (size_t)(end - p));
		if (!p)
			return false;
		if (code_length(p, (size_t)(end - p)))
			return true;
	}
	return false;
}

static bool without_codes(struct lines *lines, struct span *s)
{
	size_t kept = 0;

	if (s->length > lines->room) {
		char *grown = xrealloc(lines->copy, s->length * 2);

		if (!grown) {
			lines->failed = true;
			return false;
		}
		lines->copy = grown;
		lines->room = s->length * 2;
	}
	for (size_t i = 0; i < s->length;) {
		size_t skip = code_length(s->text + i, s->length - i);

		if (!skip)
			lines->copy[kept++] = s->text[i++];
		i += skip;
	}
	*s = (struct span){lines->copy, kept};
	return true;
}

static bool skip_digits(struct span *s, size_t least, size_t max)
{
	size_t n = 0;

	while (n < max && n < s->length && is_digit(s->text[n]))
		n++;
	if (n >= least)
		*s = span_behind(*s, n);
	return n >= least;
}

static bool skip_one(struct span *s, const char *set)
{
	if (!s->length || !*s->text || !strchr(set, *s->text))
		return false;
	*s = span_behind(*s, 1);
	return true;
}

/* "2026-01-31 12:00:00.123 ", "2026-01-31T12:00:00Z ", "12:00:00 ". */
static bool skip_time(struct span *ret)
{
	struct span s = *ret;

	if (skip_digits(&s, 4, 4) && skip_one(&s, "-/") && skip_digits(&s, 2, 2) &&
	    skip_one(&s, "-/") && skip_digits(&s, 2, 2)) {
		if (!skip_one(&s, "T "))
			return false;
	} else {
		s = *ret;
	}
	if (!skip_digits(&s, 2, 2) || !skip_one(&s, ":") || !skip_digits(&s, 2, 2) ||
	    !skip_one(&s, ":") || !skip_digits(&s, 2, 2))
		return false;
	if (skip_one(&s, ".,"))
		skip_digits(&s, 0, 9);
	if (!skip_one(&s, "Z") && skip_one(&s, "+-")) {
		skip_digits(&s, 0, 2);
		skip_one(&s, ":");
		skip_digits(&s, 0, 2);
	}
	skip_one(&s, ":");
	if (!s.length || !is_space(*s.text))
		return false;
	*ret = s;
	return true;
}

/* "[worker 0] ": a short group in brackets and a blank. */
static bool skip_bracket(struct span *s)
{
	enum { LONGEST = 80 };
	size_t n = 1;

	if (!s->length || s->text[0] != '[')
		return false;
	while (n < s->length && n < LONGEST && s->text[n] != ']' && s->text[n] != '[')
		n++;
	if (n + 1 >= s->length || s->text[n] != ']' || !is_space(s->text[n + 1]))
		return false;
	*s = span_behind(*s, n + 1);
	return true;
}

/* "job.sh:" and "job.sh:12:" as grep prints them. */
static bool skip_file(struct span *s)
{
	enum { LONGEST = 256 };
	struct span rest;
	bool path = false, letter = false;
	size_t n = 0;

	for (; n < s->length && n < LONGEST && s->text[n] != ':' && !is_space(s->text[n]); n++) {
		path = path || s->text[n] == '.' || s->text[n] == '/';
		letter = letter || !(is_hex(s->text[n]) || s->text[n] == '.');
	}
	if (!n || n == s->length || s->text[n] != ':' || !path || !letter)
		return false;
	*s = span_behind(*s, n + 1);
	rest = *s;
	if (skip_digits(&rest, 1, 9) && skip_one(&rest, ":"))
		*s = rest;
	return true;
}

static struct span undecorate(struct span s)
{
	/* Bounded, so that a line of nothing but brackets costs no more than its length. */
	for (int i = 0; i < 32; i++) {
		s = span_trim(s);
		if (skip_one(&s, ">#*;"))
			continue;
		if (!skip_time(&s) && !skip_bracket(&s) && !skip_file(&s))
			break;
	}
	return span_trim(s);
}

bool lines_next(struct lines *lines, struct line *line)
{
	struct cursor *at = &lines->at;
	const char *start = at->rest.text, *end = start + at->rest.length, *stop, *next;

	if (!at->rest.length)
		return false;
	if (!at->newline || at->newline < start)
		at->newline = memchr(start, '\n', at->rest.length);
	if (!at->newline)
		at->newline = end;
	/* A carriage return within the line ends it too: a progress bar, or an old Mac. */
	stop = memchr(start, '\r', (size_t)(at->newline - start));
	if (!stop)
		stop = at->newline;
	for (next = stop; next < at->newline && *next == '\r';)
		next++;
	line->number = at->number + 1;
	line->cut = next == end;
	if (next == at->newline) {
		at->number++;
		next += next < end;
	}
	at->rest = (struct span){next, (size_t)(end - next)};
	line->text = (struct span){start, (size_t)(stop - start)};
	if (has_codes(line->text) && !without_codes(lines, &line->text))
		return false;
	line->body = undecorate(line->text);
	return true;
}
