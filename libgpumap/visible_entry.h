/* SPDX-License-Identifier: MIT */
/* Finds the device that an entry of a visible list names, and whether it was named before. */
#ifndef GM_VISIBLE_ENTRY_H
#define GM_VISIBLE_ENTRY_H

#include "visible_uuid.h"

struct matcher {
	enum dialect dialect;
	const struct visible_view *view;
	struct uuid_names names;
	struct seen *seen; /* a hash table of named devices */
	size_t slots;
	bool torch_uuids; /* torch decides by the first entry's prefix */
	bool torch_migs;
	struct span ascii; /* the list with its numbers in ASCII; may be the value itself */
	char *copy;        /* the buffer of `ascii`, or NULL */
};

int matcher_init(struct matcher *matcher, enum dialect dialect, const struct visible_view *view,
		 struct span value);
void matcher_free(struct matcher *matcher);

/* Looks the token up; END_NOT: *entry is filled in. `first` is the list's first entry,
 * NULL for none. */
enum visible_end matcher_match(const struct matcher *matcher, struct span token,
			       const struct visible_entry *first, struct visible_entry *entry);

/* Remembers the device that entry `number` names. True: entry *earlier named it already. */
bool matcher_repeats(const struct matcher *matcher, size_t number,
		     const struct visible_entry *entry, size_t *earlier);
/* The same by the token's text (UUIDs) or number, whether the device exists or not. */
bool matcher_repeats_text(const struct matcher *matcher, size_t number, struct span token,
			  bool uuids, size_t *earlier);
void matcher_forget(struct matcher *matcher);

#endif
