/* SPDX-License-Identifier: MIT */
#include "roff.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 76 };

void put_escaped(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		switch (text[i]) {
		case '-':
			fputs("\\-", stdout);
			break;
		case '\\':
			fputs("\\e", stdout);
			break;
		case '"':
			fputs("\\(dq", stdout);
			break;
		case '~':
			fputs("\\(ti", stdout);
			break;
		case '^':
			fputs("\\(ha", stdout);
			break;
		default:
			putchar(text[i]);
		}
	}
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
	size_t column = 0;

	while (*text) {
		size_t length = strcspn(text, " ");
		bool end = ends_sentence(text, length);

		if (column && column + 1 + length > WIDTH) {
			putchar('\n');
			column = 0;
		}
		if (column)
			putchar(' ');
		else if (*text == '.' || *text == '\'')
			fputs("\\&", stdout);
		put_escaped(text, length);
		column = end ? 0 : column + 1 + length;
		text += length;
		text += strspn(text, " ");
		if (end || !*text)
			putchar('\n');
	}
}
