/* SPDX-License-Identifier: MIT */
/* Finds the device that an entry of a visible list names. */
#ifndef GM_VISIBLE_ENTRY_H
#define GM_VISIBLE_ENTRY_H

#include "visible/uuid.h"

struct matcher {
	enum dialect dialect;
	const struct visible_view *view;
	struct uuid_names names;
	struct seen *seen; /* what the list named so far (visible/repeats.h) */
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

#endif
