/* SPDX-License-Identifier: MIT */
/* Finds the device that an entry of a visible list names: for CUDA's driver, and for others. */
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

/* Look a token up: END_NOT and *entry is filled in. `first` is the list's first entry, NULL for
 * none. */
enum visible_end match_uuid(const struct matcher *matcher, struct span token,
			    const struct visible_entry *first, struct visible_entry *entry);
enum visible_end match_index(const struct matcher *matcher, struct span token,
			     const struct visible_entry *first, struct visible_entry *entry);
/* The same for an index that was read. */
enum visible_end take_index(const struct matcher *matcher, int64_t index,
			    const struct visible_entry *first, struct visible_entry *entry);

#endif
