/* SPDX-License-Identifier: MIT */
/* See arena.h. */
#include "arena.h"

#include <stdio.h>

enum { FIRST_BLOCK = 8192, MAX_BLOCK = 1 << 20 };

struct arena_block {
	struct arena_block *next;
	size_t size, used;
	max_align_t data[];
};

void arena_free(struct arena *arena)
{
	while (arena->block) {
		struct arena_block *block = arena->block;

		arena->block = block->next;
		free(block);
	}
}

static struct arena_block *block_add(struct arena *arena, size_t need)
{
	size_t size = arena->block ? arena->block->size * 2 : FIRST_BLOCK;
	struct arena_block *block;

	/* Half of a doubled block may stay unused: with megabytes that is too much. */
	size = size < MAX_BLOCK ? size : MAX_BLOCK;
	if (size < need)
		size = need;
	block = malloc(sizeof(*block) + size);
	if (!block)
		return NULL;
	block->size = size;
	block->used = 0;
	block->next = arena->block;
	arena->block = block;
	return block;
}

void *arena_alloc(struct arena *arena, size_t count, size_t size)
{
	const size_t align = _Alignof(max_align_t);
	struct arena_block *block = arena->block;
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4)
		goto fail;
	bytes = (bytes + align - 1) / align * align;
	if (!block || block->size - block->used < bytes)
		block = block_add(arena, bytes);
	if (!block)
		goto fail;
	p = (char *)block->data + block->used;
	block->used += bytes;
	return memset(p, 0, bytes);
fail:
	memory_ran_out();
	arena->failed = true;
	return NULL;
}

void *arena_room(struct arena *arena, void *array, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 8;
	void *grown;

	if (count < *room)
		return array;
	grown = arena_alloc(arena, more, size);
	if (!grown)
		return NULL;
	if (count)
		memcpy(grown, array, count * size);
	*room = more;
	return grown;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_alloc(arena, length + 1, 1);

	/* An empty span may have no text. */
	if (copy && length)
		memcpy(copy, text, length);
	return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return text ? arena_strndup(arena, text, strlen(text)) : NULL;
}

char *arena_vprintf(struct arena *arena, const char *format, va_list args)
{
	char line[256], *text;
	va_list again;
	int length;

	va_copy(again, args);
	length = vsnprintf(line, sizeof(line), format, again);
	va_end(again);
	if (length < 0) {
		memory_ran_out();
		arena->failed = true;
		return NULL;
	}
	if ((size_t)length < sizeof(line)) /* nearly always; formatting twice takes longer */
		return arena_strndup(arena, line, (size_t)length);
	text = arena_alloc(arena, (size_t)length + 1, 1);
	if (text)
		vsnprintf(text, (size_t)length + 1, format, args);
	return text;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = arena_vprintf(arena, format, args);
	va_end(args);
	return text;
}
