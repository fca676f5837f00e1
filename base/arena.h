/* SPDX-License-Identifier: MIT */
/*
 * An arena: many small pieces of memory that are freed together, so that one resolve needs only a
 * handful of calls to malloc. A failed allocation returns NULL and sets `failed`, which stays set,
 * so that a caller may check once after several calls.
 */
#ifndef GM_ARENA_H
#define GM_ARENA_H

#include "base.h"

struct arena_block;

struct arena {
	struct arena_block *block;
	bool failed;
};

void arena_free(struct arena *arena);

/* Zeroed memory, aligned for any type; NULL without memory. */
void *arena_alloc(struct arena *arena, size_t count, size_t size);

/* array_room() and ARRAY_NEXT() for an array in the arena. */
void *arena_room(struct arena *arena, void *array, size_t count, size_t *room, size_t size);
#define ARENA_NEXT(arena, list, count, room) \
	((list) = arena_room((arena), (list), (count), &(room), sizeof(*(list))), \
	 &(list)[(count)++])

/* Copies of texts. For a NULL text they return NULL, and the arena does not fail. */
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...) PRINTF(2, 3);
char *arena_vprintf(struct arena *arena, const char *format, va_list args) PRINTF(2, 0);

#endif
