/* SPDX-License-Identifier: MIT */
/* "Did you mean": which known word is nearest to one that is not known. */
#include "suggest.h"

#include <stdio.h>
#include <strings.h>

enum { LONGEST = 64 };

static int min3(int a, int b, int c)
{
	int m = a < b ? a : b;

	return m < c ? m : c;
}

int edit_distance(struct span a, const char *b, int max)
{
	size_t la = a.length, lb = strlen(b);
	int row[3][LONGEST + 1];

	if (la > LONGEST || lb > LONGEST || (la > lb ? la - lb : lb - la) > (size_t)max)
		return max + 1;
	for (size_t j = 0; j <= lb; j++)
		row[0][j] = (int)j;
	for (size_t i = 1; i <= la; i++) {
		int *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];

		now[0] = (int)i;
		for (size_t j = 1; j <= lb; j++) {
			int cost = a.text[i - 1] != b[j - 1];

			now[j] = min3(up[j] + 1, now[j - 1] + 1, up[j - 1] + cost);
			if (i > 1 && j > 1 && a.text[i - 1] == b[j - 2] &&
			    a.text[i - 2] == b[j - 1] && up2[j - 2] + 1 < now[j])
				now[j] = up2[j - 2] + 1;
		}
	}
	return row[la % 3][lb] > max ? max + 1 : row[la % 3][lb];
}

/* A name is not alike if every letter is replaced. In a short name the first letter counts most:
 * cpu is not meant by gpu. */
static bool alike(struct span text, const char *name, size_t distance)
{
	size_t length = strlen(name);

	if (distance && length <= 3 && length == text.length && *text.text != *name)
		return false;
	return distance + strspn(name, "-") < length;
}

struct nearest nearest_to(struct span text)
{
	size_t letters = text.length;

	for (const char *c = text.text; letters && *c == '-'; c++)
		letters--;
	return (struct nearest){text, NULL, letters >= 8 ? 3 : 2};
}

void nearest_try(struct nearest *nearest, const char *name)
{
	struct span text = nearest->text;
	bool same = strlen(name) == text.length && strncasecmp(text.text, name, text.length) == 0;
	int d = same ? 0 : edit_distance(text, name, nearest->distance - 1);

	if (d < nearest->distance && alike(text, name, (size_t)d)) {
		nearest->distance = d;
		nearest->name = name;
	}
}

const char *suggest(struct span text, const char *const *names)
{
	struct nearest nearest = nearest_to(text);

	for (; *names; names++)
		nearest_try(&nearest, *names);
	return nearest.name;
}

const char *did_you_mean(struct quoted *ret, const char *near, const char *otherwise)
{
	return near ? format_text(ret, "did you mean %s?", near) : otherwise;
}

int word_place(const char *words, struct span text)
{
	struct span rest = span_of(words), word;

	for (int place = 0; span_split(&rest, '|', &word); place++)
		if (span_same(word, text))
			return place;
	return -1;
}

static bool has_capitals(struct span word)
{
	for (size_t i = 0; i < word.length; i++)
		if (is_upper(word.text[i]))
			return true;
	return false;
}

const char *word_near(struct quoted *ret, const char *words, struct span text)
{
	struct nearest nearest = nearest_to(text);
	struct span rest = span_of(words), word;
	char name[LONGEST + 1];
	int before;

	*ret = (struct quoted){{0}};
	while (span_split(&rest, '|', &word)) {
		if (has_capitals(word) || word.length > LONGEST)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)word.length, word.text);
		before = nearest.distance;
		nearest_try(&nearest, name);
		if (nearest.distance < before)
			did_you_mean(ret, name, NULL);
	}
	return *ret->text ? ret->text : NULL;
}

const char *word_fix(struct quoted *ret, const char *words, struct span text)
{
	struct span rest = span_of(words), word;
	const char *between = "write ";
	size_t n = 0;

	if (word_near(ret, words, text))
		return ret->text;
	while (span_split(&rest, '|', &word) && n < sizeof(ret->text)) {
		n += (size_t)snprintf(ret->text + n, sizeof(ret->text) - n, "%s%.*s", between,
				      (int)word.length, word.text);
		between = rest.text && !memchr(rest.text, '|', rest.length) ? " or " : ", ";
	}
	return ret->text;
}
