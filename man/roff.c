/* SPDX-License-Identifier: MIT */
#include "roff.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 76, MAX_BYTES = 80 }; /* as read, and as written: mandoc counts these */

/* What roff takes for this letter; NULL: the letter itself. */
static const char *escape(char letter)
{
	switch (letter) {
	case '-':
		return "\\-";
	case '\\':
		return "\\e";
	case '"':
		return "\\(dq";
	case '~':
		return "\\(ti";
	case '^':
		return "\\(ha";
	default:
		return NULL;
	}
}

void put_escaped(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		const char *escaped = escape(text[i]);

		if (escaped)
			fputs(escaped, stdout);
		else
			putchar(text[i]);
	}
}

static size_t escaped_length(const char *text, size_t length)
{
	size_t n = 0;

	for (size_t i = 0; i < length; i++)
		n += escape(text[i]) ? strlen(escape(text[i])) : 1;
	return n;
}

void put(const char *text)
{
	put_escaped(text, strlen(text));
}

void put_line(const char *text)
{
	put(text);
	putchar('\n');
}

static bool ends_sentence(const char *word, size_t length)
{
	return length > 1 && strchr(".!?", word[length - 1]);
}

void put_lines(const char *text)
{
	size_t column = 0, bytes = 0;

	while (*text) {
		size_t length = strcspn(text, " "), escaped = escaped_length(text, length);
		bool end = ends_sentence(text, length);

		if (column && (column + 1 + length > WIDTH || bytes + 1 + escaped > MAX_BYTES)) {
			putchar('\n');
			column = bytes = 0;
		}
		if (column)
			putchar(' ');
		else if (*text == '.' || *text == '\'')
			fputs("\\&", stdout);
		put_escaped(text, length);
		column = end ? 0 : column + 1 + length;
		bytes = end ? 0 : bytes + 1 + escaped;
		text += length;
		text += strspn(text, " ");
		if (end || !*text)
			putchar('\n');
	}
}
