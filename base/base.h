/* SPDX-License-Identifier: MIT */
#ifndef GM_BASE_H
#define GM_BASE_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))
/* The text at a place of a list, all of whose entries are evaluated; NULL: it has none there. */
#define TEXT_AT(place, ...) \
	__extension__({ \
		const char *const texts_[] = {__VA_ARGS__}; \
		size_t place_ = (size_t)(place); \
		place_ < ARRAY_SIZE(texts_) ? texts_[place_] : NULL; \
	})
/* The same for the number of an attribute, of a list of NUMBERED(attribute) = number; -1: behind
 * the list. The list has no holes, which would be 0. */
#define FIRST_NUMBER 100 /* texts are attributes below it */
#define NUMBERED(attribute) [(attribute)-FIRST_NUMBER]
#define NUMBER_AT(attribute, ...) \
	__extension__({ \
		const int64_t numbers_[] = {__VA_ARGS__}; \
		size_t place_ = (size_t)(attribute)-FIRST_NUMBER; \
		place_ < ARRAY_SIZE(numbers_) ? numbers_[place_] : -1; \
	})
#define MUST_CHECK __attribute__((warn_unused_result))

/* Marks a public function; everything else is hidden. */
#define EXPORT __attribute__((visibility("default")))

static inline bool streq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static inline bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Whether both are the same text, or both NULL. */
static inline bool text_same(const char *a, const char *b)
{
	return a && b ? streq(a, b) : a == b;
}

/* Called when an allocation of base, or of a report, fails: memory.h. */
void memory_ran_out(void);

/* Room for one more element after `count`: the array, perhaps moved. NULL without memory; the old
 * array is then unchanged. */
static inline void *array_room(void *array, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 8, bytes;
	void *grown;

	if (count < *room)
		return array;
	grown = __builtin_mul_overflow(more, size, &bytes) ? NULL : realloc(array, bytes);
	if (grown)
		*room = more;
	else
		memory_ran_out();
	return grown;
}

/* Makes room in a list for one more element. False without memory; the list is then unchanged. */
#define ARRAY_ROOM(list, count, room) \
	__extension__({ \
		void *grown_ = array_room((list), (count), &(room), sizeof(*(list))); \
		(list) = grown_ ? grown_ : (list); \
		grown_ != NULL; \
	})

/* The next element of a list, to be written, where allocations do not fail (memory.h). */
#define ARRAY_NEXT(list, count, room) \
	((list) = array_room((list), (count), &(room), sizeof(*(list))), &(list)[(count)++])

/* The first place `i` from 0 on at which the expression `before` is false, by halving: it is true
 * at every place before that, and false from there on. `count`: it is true at all of them. */
#define FIRST_PLACE(i, count, before) \
	__extension__({ \
		size_t low_ = 0, high_ = (count); \
		while (low_ < high_) { \
			size_t i = low_ + (high_ - low_) / 2; \
			if (before) \
				low_ = i + 1; \
			else \
				high_ = i; \
		} \
		low_; \
	})

/* The result of a system call, which is made again while a signal interrupts it. */
#define UNINTERRUPTED(call) \
	__extension__({ \
		__typeof__(call) result_; \
		do \
			result_ = (call); \
		while (result_ < 0 && errno == EINTR); \
		result_; \
	})

/* Calls a function with the address of the variable when that goes out of scope. */
#define CLEANUP(function) __attribute__((cleanup(function)))

/* errno stays, also where free() would change it (glibc before 2.33). */
static inline void free_pointer(void *variable)
{
	int why = errno;
	void *memory;

	memcpy(&memory, variable, sizeof(memory));
	free(memory);
	errno = why;
}
#define CLEANUP_FREE CLEANUP(free_pointer)

#endif
