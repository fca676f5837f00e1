/* SPDX-License-Identifier: MIT */
/* A hash table of what a visible list named, for rule V5. */
#ifndef GM_VISIBLE_REPEATS_H
#define GM_VISIBLE_REPEATS_H

#include "text.h"

struct seen {
	uint64_t key;
	size_t number; /* of the entry, + 1; 0: free */
	struct span text;
};

/* Remembers entry `number` in the table of `slots` (a power of two, twice the entries); true:
 * *earlier had the same key and text. If a text is given it is compared, so that equal hashes are
 * no fault. */
bool seen_before(struct seen *seen, size_t slots, uint64_t key, struct span text, size_t number,
		 size_t *earlier);

#endif
