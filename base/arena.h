/* SPDX-License-Identifier: MIT */
/*
 * An arena: many small pieces, freed together. One resolve is a handful of
 * calls to malloc. A failed allocation returns NULL and sets `failed`, which
 * stays, so that a caller may check once after a run of calls.
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

/* As array_room, for an array in the arena. */
void *arena_room(struct arena *arena, void *array, size_t count, size_t *room, size_t size);

/* Copies; a NULL text gives NULL without failing the arena. */
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...) PRINTF(2, 3);
char *arena_vprintf(struct arena *arena, const char *format, va_list args) PRINTF(2, 0);

#endif
