/* SPDX-License-Identifier: MIT */
/* Python's strings: '...', """...""", with prefixes, and f"..." with strings inside. */
#include "lint/python_text.h"

/* A replacement field longer than this is read as plain text: its quotes end the string. */
enum { LONGEST_FIELD = 200, DEEPEST_FIELD = 4 };

static size_t field_end(const struct python_text *p, size_t at, int depth);

/* The end of a one-line string that begins after `at`, past its closing quote; 0: none. */
static size_t quoted_end(const struct python_text *p, size_t at, bool format, int depth)
{
	char quote = peek(p, at);

	for (at++; at < p->text.length && !is_break(peek(p, at)); at++) {
		char c = peek(p, at);

		if (c == quote)
			return at + 1;
		if (c == '\\') {
			at++;
			at += peek(p, at) == '\r' && peek(p, at + 1) == '\n';
		} else if (format && c == '{' && peek(p, at + 1) == '{') {
			at++;
		} else if (format && c == '{') {
			size_t end = field_end(p, at + 1, depth + 1);

			if (!end)
				return 0;
			at = end - 1;
		}
	}
	return 0;
}

/* Past the } of a replacement field, which may have strings in the same quotes; 0: it is
 * not a field. */
static size_t field_end(const struct python_text *p, size_t at, int depth)
{
	size_t last = at + LONGEST_FIELD;
	int nested = 0;
	bool spec = false;

	if (depth > DEEPEST_FIELD)
		return 0;
	for (; at < p->text.length && at < last; at++) {
		char c = peek(p, at);
		size_t end = at + 1;

		if (c == '}' && !nested)
			return at + 1;
		if (spec && c == '{')
			end = field_end(p, at + 1, depth + 1);
		else if (c == '"' || c == '\'')
			end = spec ? 0 : quoted_end(p, at, peek(p, at - 1) == 'f', depth + 1);
		else if (c == '(' || c == '[' || c == '{')
			nested++;
		else if (c == ')' || c == ']' || c == '}')
			nested--;
		else if (c == ':' && !nested)
			spec = true;
		if (!end || nested < 0)
			return 0;
		at = end - 1;
	}
	return 0;
}

/* The end of a string's contents; *past is after its quotes. A string that is not closed ends with
 * its line; with three quotes it ends with the text. */
static size_t string_end(struct python_text *p, size_t at, size_t quotes, bool format, size_t *past)
{
	char quote = peek(p, at);
	size_t body = at + quotes, end = 0;

	if (quotes == 1) {
		end = quoted_end(p, at, format, 0);
		end = end || !format ? end : quoted_end(p, at, false, 0);
		*past = end;
		if (end)
			return end - 1;
	}
	for (at = body; at < p->text.length; at++) {
		if (peek(p, at) == '\\')
			at++;
		else if (quotes == 1 && is_break(peek(p, at)))
			break;
		else if (quotes == 3 && peek(p, at) == quote && peek(p, at + 1) == quote &&
			 peek(p, at + 2) == quote) {
			*past = at + 3;
			return at;
		}
	}
	if (at > p->text.length)
		at = p->text.length;
	if (!p->broken)
		p->broken = p->line;
	*past = at;
	return at;
}

/* Counts the lines that a string or a joined line covers. */
static void count_lines(struct python_text *p, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		if (!is_break(peek(p, i)) || (peek(p, i) == '\r' && peek(p, i + 1) == '\n'))
			continue;
		p->line++;
		p->line_start = i + 1;
	}
}

void python_read_string(struct python_text *p, struct python_token *token, size_t prefix)
{
	size_t at = p->at + prefix, past, end;
	char quote = peek(p, at);
	bool triple = peek(p, at + 1) == quote && peek(p, at + 2) == quote;
	bool bytes = false, raw = false, format = false;

	for (size_t i = p->at; i < at; i++) {
		char c = (char)(peek(p, i) | 0x20);

		bytes |= c == 'b';
		raw |= c == 'r';
		format |= c == 'f' || c == 't';
	}
	end = string_end(p, at, triple ? 3 : 1, format, &past);
	at += triple ? 3 : 1;
	if (end < at)
		end = at < p->text.length ? at : p->text.length;
	token->kind = format ? PYTHON_FORMAT : PYTHON_STRING;
	token->text = (struct span){p->text.text + at, end > at ? end - at : 0};
	token->plain = !bytes && (raw || !token->text.length ||
				  !memchr(token->text.text, '\\', token->text.length));
	count_lines(p, p->at, past);
	p->at = past;
}

size_t python_string_prefix(const struct python_text *p)
{
	size_t n = 0;

	while (n < 3 && strchr("rRbBfFuUtT", peek(p, p->at + n)) && peek(p, p->at + n))
		n++;
	if (peek(p, p->at + n) == '"' || peek(p, p->at + n) == '\'')
		return n;
	return SIZE_MAX;
}
