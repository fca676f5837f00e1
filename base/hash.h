/* SPDX-License-Identifier: MIT */
/* Hash values, and a table of them. The hash is FNV-1a of 64 bits, by Fowler, Noll and Vo:
 * http://www.isthe.com/chongo/tech/comp/fnv */
#ifndef GM_HASH_H
#define GM_HASH_H

#include "base.h"

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* Continues `hash` with these bytes. Begin with HASH_START. */
static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* Continues `hash` with a text, without its NUL. */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	return hash_bytes(hash, text, strlen(text));
}

/* Continues `hash` with a whole number; faster than its bytes. */
static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

/*
 * A hash table of positions in an array, by the hash of the element. The caller compares the
 * elements:
 *
 * 	for (size_t walk = 0, i; hash_index_next(&index, hash, &walk, &i);)
 * 		if (is_wanted(&array[i]))
 * 			return &array[i];
 */
struct hash_index {
	struct hash_slot {
		uint64_t hash;
		size_t number; /* the position + 1; 0: free */
	} * slots;
	size_t room, used; /* room: 0, or a power of two that is at least twice `used` */
};

/* Frees the slots; an index of zeros is empty. */
void hash_index_free(struct hash_index *index);

/* False without memory; the index is then unchanged. */
bool hash_index_add(struct hash_index *index, uint64_t hash, size_t position);

/* The next position with that hash. *walk is 0 at first. Add nothing during the walk. */
bool hash_index_next(const struct hash_index *index, uint64_t hash, size_t *walk, size_t *position);

#endif
