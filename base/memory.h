/* SPDX-License-Identifier: MIT */
/*
 * Memory that runs out. The library reports it to its callers. A program that had better end
 * defines memory_ran_out() itself: gpumap does (tools/cli/out_of_memory.h), and gpumap-train
 * (trainer/main.c). What is linked into them alone, lint/, doctor/, trainer/ and most of tools/,
 * checks no allocation.
 */
#ifndef GM_MEMORY_H
#define GM_MEMORY_H

#include "base.h"

/* As the functions without x. Before they fail they call memory_ran_out(), so where that ends the
 * process they do not fail. The memory is freed with free(). */
void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t length);
int xasprintf(char **ret, const char *format, ...) PRINTF(2, 3);

#endif
