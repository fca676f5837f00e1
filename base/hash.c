/* SPDX-License-Identifier: MIT */
/* See hash.h. */
#include "hash.h"

enum { FIRST_ROOM = 64 };

/* The high bits of FNV-1a are mixed better. */
static size_t home(uint64_t hash)
{
	return (size_t)(hash ^ hash >> 29);
}

static void place(struct hash_index *index, struct hash_slot slot)
{
	size_t i = home(slot.hash);

	while (index->slots[i & (index->room - 1)].number)
		i++;
	index->slots[i & (index->room - 1)] = slot;
	index->used++;
}

static bool grow(struct hash_index *index)
{
	struct hash_index grown = {.room = index->room ? index->room * 2 : FIRST_ROOM};

	grown.slots = calloc(grown.room, sizeof(*grown.slots));
	if (!grown.slots) {
		memory_ran_out();
		return false;
	}
	for (size_t i = 0; i < index->room; i++)
		if (index->slots[i].number)
			place(&grown, index->slots[i]);
	hash_index_free(index);
	*index = grown;
	return true;
}

void hash_index_free(struct hash_index *index)
{
	free(index->slots);
	*index = (struct hash_index){0};
}

bool hash_index_add(struct hash_index *index, uint64_t hash, size_t position)
{
	if (index->used * 2 >= index->room && !grow(index))
		return false;
	place(index, (struct hash_slot){hash, position + 1});
	return true;
}

bool hash_index_next(const struct hash_index *index, uint64_t hash, size_t *walk, size_t *position)
{
	while (*walk < index->room) {
		const struct hash_slot *slot =
			&index->slots[(home(hash) + (*walk)++) & (index->room - 1)];

		if (!slot->number)
			return false;
		if (slot->hash == hash) {
			*position = slot->number - 1;
			return true;
		}
	}
	return false;
}
