/* SPDX-License-Identifier: MIT */
#include "run/nearest.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 39 };

void nearest_begin(struct nearest *nearest, const char *word)
{
	/* Of a short word, two letters are most of it. */
	*nearest = (struct nearest){.word = word, .distance = strlen(word) < 8 ? 3 : 4};
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* Letters added, left out, replaced, or swapped with their neighbour. */
static int distance(const char *a, size_t la, const char *b, size_t lb)
{
	int d[LONGEST + 1][LONGEST + 1];

	for (size_t i = 0; i <= la; i++)
		d[i][0] = (int)i;
	for (size_t j = 0; j <= lb; j++)
		d[0][j] = (int)j;
	for (size_t i = 1; i <= la; i++) {
		for (size_t j = 1; j <= lb; j++) {
			int same = a[i - 1] == b[j - 1];

			d[i][j] =
				least(least(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + !same);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[la][lb];
}

void nearest_try(struct nearest *nearest, const char *name)
{
	size_t length = strlen(nearest->word), of_name = strlen(name);
	int d;

	if (length > LONGEST || of_name > LONGEST)
		return;
	d = strcasecmp(nearest->word, name) ? distance(nearest->word, length, name, of_name) : 0;
	/* Where every letter is replaced, nothing is left that was meant. */
	if (d >= nearest->distance || (size_t)d + strspn(name, "-") >= of_name)
		return;
	nearest->distance = d;
	snprintf(nearest->name, sizeof(nearest->name), "%s", name);
}
