/* SPDX-License-Identifier: MIT */
/* Finds the device that an entry of a visible list names, and whether it was named before. */
#ifndef GM_VISIBLE_ENTRY_H
#define GM_VISIBLE_ENTRY_H

#include "visible.h"

struct matcher {
	enum dialect dialect;
	const struct visible_view *view;
	int *by_uuid, *by_mig; /* positions of known UUIDs, sorted by UUID */
	size_t known, known_migs;
	bool plain;        /* GPU- occurs only at the beginning of UUIDs */
	struct seen *seen; /* a hash table of named devices */
	size_t slots;
	bool torch_uuids; /* torch decides by the first entry's prefix */
	bool torch_migs;
	struct span ascii; /* the list with its numbers in ASCII; may be the value itself */
	char *copy;        /* the buffer of `ascii`, or NULL */
};

/* Sorts the view's names for the functions below. GPUMAP_ENOMEM. */
int names_sort(struct matcher *matcher);
/* The GPU whose UUID begins with the text: END_NOT and its position in *gpu. */
enum visible_end names_find_uuid(const struct matcher *matcher, struct span text, int *gpu);
/* HIP looks for the text anywhere in the UUID and takes the first device. */
enum visible_end names_find_substring(const struct matcher *matcher, struct span text, int *gpu);
/* MIG-UUID or MIG-GPU-UUID/GI/CI: the instance's position in *mig. */
enum visible_end names_find_mig(const struct matcher *matcher, struct span text, int *mig);

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
