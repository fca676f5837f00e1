/* SPDX-License-Identifier: MIT */
/* See table.h. */
#include "plan/table.h"

#include "hash.h"

static size_t hash(struct table_key key)
{
	uint64_t h = HASH_START;

	for (size_t i = 0; i < ARRAY_SIZE(key.words); i++)
		h = hash_word(h, key.words[i]);
	return (size_t)h;
}

static struct table_slot *find(const struct table *table, struct table_key key)
{
	size_t i = hash(key) & (table->room - 1);

	while (table->slots[i].object && memcmp(&table->slots[i].key, &key, sizeof(key)) != 0)
		i = (i + 1) & (table->room - 1);
	return &table->slots[i];
}

/* The old slots stay in the arena: together all sizes are at most twice the last one. */
static bool grow(struct table *table, struct arena *arena)
{
	struct table grown = {.room = table->room ? table->room * 2 : 16, .used = table->used};

	grown.slots = arena_alloc(arena, grown.room, sizeof(*grown.slots));
	if (!grown.slots)
		return false;
	for (size_t i = 0; i < table->room; i++)
		if (table->slots[i].object)
			*find(&grown, table->slots[i].key) = table->slots[i];
	*table = grown;
	return true;
}

void *table_find(const struct table *table, struct table_key key)
{
	return table->room ? find(table, key)->object : NULL;
}

void **table_place(struct table *table, struct arena *arena, struct table_key key)
{
	struct table_slot *slot;

	if (table->used * 2 >= table->room && !grow(table, arena))
		return NULL;
	slot = find(table, key);
	if (!slot->object) {
		slot->key = key;
		table->used++;
	}
	return &slot->object;
}

void *table_object(struct table *table, struct arena *arena, struct table_key key, size_t size)
{
	void **place = table_place(table, arena, key);

	if (place && !*place)
		*place = arena_alloc(arena, 1, size);
	return place ? *place : NULL;
}
