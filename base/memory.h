/* SPDX-License-Identifier: MIT */
/*
 * What a failed allocation does. base and the library report it to their callers. A program that
 * had better end defines memory_ran_out() itself: gpumap does (tools/cli/out_of_memory.h), and what
 * is linked into it alone, lint/, doctor/ and most of tools/, checks no allocation.
 */
#ifndef GM_MEMORY_H
#define GM_MEMORY_H

#include "base.h"

/* Never NULL, because memory_ran_out() ends the process. The memory is freed with free(). */
void *xcalloc(size_t count, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t length);

#endif
