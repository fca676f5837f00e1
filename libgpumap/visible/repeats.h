/* SPDX-License-Identifier: MIT */
/* Rule V5: whether an entry of a visible list repeats an earlier one, and what a repeat does. */
#ifndef GM_VISIBLE_REPEATS_H
#define GM_VISIBLE_REPEATS_H

#include "visible/entry.h"

/* Makes the table of what a list of `entries` names. False: no memory. */
bool matcher_make_table(struct matcher *matcher, size_t entries);

/* Remembers the device that entry `number` names. True: entry *earlier named it already. */
bool matcher_repeats(const struct matcher *matcher, size_t number, struct span token,
		     const struct visible_entry *entry, size_t *earlier);
/* The same by the token's text (UUIDs) or number, whether the device exists or not. */
bool matcher_repeats_text(const struct matcher *matcher, size_t number, struct span token,
			  bool uuids, size_t *earlier);
/* Forgets all entries. */
void matcher_forget(struct matcher *matcher);

enum repeat_effect {
	REPEAT_EMPTIES, /* no device is visible */
	REPEAT_ENDS,    /* the entries before it remain */
	REPEAT_SKIPPED  /* the list continues after it */
};
enum repeat_effect repeat_effect(enum dialect dialect);

#endif
