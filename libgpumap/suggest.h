/* SPDX-License-Identifier: MIT */
#ifndef GM_SUGGEST_H
#define GM_SUGGEST_H

#include "base.h"

/* Edit distance of two names (insert, delete, replace, swap neighbours); counts
 * stop at `most` + 1, so that long texts cost little. */
int edit_distance(const char *a, const char *b, int most);

/* The name nearest to `text` within 2 edits (3 for names of 8 and more characters),
 * NULL if none is. `names` ends with NULL. */
const char *suggest(const char *text, const char *const *names);

#endif
