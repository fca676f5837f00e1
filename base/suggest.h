/* SPDX-License-Identifier: MIT */
#ifndef GM_SUGGEST_H
#define GM_SUGGEST_H

#include "base.h"
#include "text.h"

/* The edit distance of two names (insert, delete, replace, swap neighbours). Counting stops at
 * `max` + 1, so that long texts cost little. */
int edit_distance(struct span a, const char *b, int max);

/* Finds the nearest of several names by the rules of suggest(). nearest_try() passes one name. */
struct nearest {
	struct span text;
	const char *name; /* NULL: none is near */
	int distance;
};
struct nearest nearest_to(struct span text);
void nearest_try(struct nearest *nearest, const char *name);

/* The name nearest to `text`: within 2 edits (3 for texts of 8 and more characters), or different
 * only in letter case. NULL if no name is near. `names` ends with NULL. */
const char *suggest(struct span text, const char *const *names);

/* A remedy: "did you mean NEAR?", kept in `ret`; `otherwise` if `near` is NULL. */
const char *did_you_mean(struct quoted *ret, const char *near, const char *otherwise);
#define DID_YOU_MEAN(near, otherwise) did_you_mean(&(struct quoted){{0}}, near, otherwise)

/* The place of `text` among words between bars, "list|isolate|cores:COUNT"; -1: not found. */
int word_place(const char *words, struct span text);
/* A remedy for a text that is not one of `words`: "did you mean isolate?" or "write list, isolate
 * or cores:COUNT". */
const char *word_fix(struct quoted *ret, const char *words, struct span text);
#define WORD_FIX(words, text) word_fix(&(struct quoted){{0}}, words, text)
/* Only the remedy "did you mean isolate?"; NULL: no word is near. A word with capitals stands for
 * other texts, and is never near. */
const char *word_near(struct quoted *ret, const char *words, struct span text);

#endif
