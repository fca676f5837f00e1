/* SPDX-License-Identifier: MIT */
/* See memory.h. */
#include "memory.h"

/* A program's own definition replaces it. */
__attribute__((weak)) void memory_ran_out(void)
{
}

static void *ends_without(void *memory)
{
	if (!memory)
		memory_ran_out();
	return memory;
}

void *xcalloc(size_t count, size_t size)
{
	return ends_without(calloc(count ? count : 1, size ? size : 1));
}

char *xstrdup(const char *text)
{
	return ends_without(strdup(text));
}

char *xstrndup(const char *text, size_t length)
{
	return ends_without(strndup(text, length));
}
