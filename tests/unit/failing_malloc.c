/* SPDX-License-Identifier: MIT */
#include "failing_malloc.h"

#include "sanitized.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* volatile, because compilers assume that malloc changes no variable */
static volatile size_t count, fail_at;
static volatile bool failed;
static int told = -1; /* a descriptor */

#if defined(__GLIBC__) && !SANITIZED
/* glibc's own names of its allocator, for programs that replace malloc. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

/* Shared libraries must find these, although the project hides symbols. */
#define VISIBLE __attribute__((visibility("default")))

static bool fails_now(void)
{
	if (++count != fail_at)
		return false;
	failed = true;
	if (told >= 0 && write(told, "!", 1) < 0)
		told = -1;
	errno = ENOMEM;
	return true;
}

VISIBLE void *malloc(size_t size)
{
	return fails_now() ? NULL : __libc_malloc(size);
}

VISIBLE void *calloc(size_t n, size_t size)
{
	return fails_now() ? NULL : __libc_calloc(n, size);
}

VISIBLE void *realloc(void *old, size_t size)
{
	if (size == 0)
		return __libc_realloc(old, size);
	return fails_now() ? NULL : __libc_realloc(old, size);
}
#endif

void allocations_fail_at(size_t n)
{
	count = 0;
	fail_at = n;
	if (n)
		failed = false;
}

void allocations_tell(int fd)
{
	told = fd;
}

size_t allocations_count(void)
{
	return count;
}

bool allocations_failed(void)
{
	return failed;
}

bool allocations_can_fail(void)
{
	char *p;
	bool counted;

	/* strdup allocates in the C library; a call from here might be bound to the one above. */
	allocations_fail_at(1);
	p = strdup("any");
	counted = !p && allocations_failed();
	free(p);
	allocations_fail_at(0);
	return counted;
}

int allocations_skip(void)
{
	puts("1..0 # SKIP allocations cannot be made to fail under this allocator");
	return EXIT_SUCCESS;
}
