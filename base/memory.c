/* SPDX-License-Identifier: MIT */
/* See memory.h. */
#include "memory.h"

#include <stdio.h>

/* A program's own definition replaces it. */
__attribute__((weak)) void memory_ran_out(void)
{
}

static void *allocated(void *memory)
{
	if (!memory)
		memory_ran_out();
	return memory;
}

void *xmalloc(size_t size)
{
	return allocated(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
	return allocated(calloc(count ? count : 1, size));
}

void *xrealloc(void *old, size_t size)
{
	return allocated(realloc(old, size ? size : 1));
}

char *xstrdup(const char *text)
{
	return allocated(strdup(text));
}

char *xstrndup(const char *text, size_t length)
{
	return allocated(strndup(text, length));
}

int xasprintf(char **ret, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(ret, format, args);
	va_end(args);
	if (length < 0)
		memory_ran_out();
	return length;
}
