/* SPDX-License-Identifier: MIT */
/* A hash table from a few words to an object, for data that hosts share. */
#ifndef GM_PLAN_TABLE_H
#define GM_PLAN_TABLE_H

#include "arena.h"

struct table_key {
	uintptr_t words[6];
};

struct table {
	struct table_slot {
		struct table_key key;
		void *object; /* NULL: free */
	} * slots;
	size_t room, used;
};

/* The key's object; NULL: there is none. */
void *table_find(const struct table *table, struct table_key key);

/* The place of the key's object. If the key is new it holds NULL: then put an object there at once.
 * NULL without memory. */
void **table_place(struct table *table, struct arena *arena, struct table_key key);

/* The key's object; if the key is new, `size` zero bytes. NULL without memory. */
void *table_object(struct table *table, struct arena *arena, struct table_key key, size_t size);

#endif
