/* SPDX-License-Identifier: MIT */
/* Memory of many pages, for which page faults take longer than filling it. */
#ifndef TRAIN_PAGES_H
#define TRAIN_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 1 << 21, SMALL_PAGE = 1 << 12 };

/* Bytes from an address to the first huge page at or after it. */
static inline size_t pages_before(const void *memory)
{
	return -(uintptr_t)memory & (HUGE_PAGE - 1);
}

/* Requests huge pages wherever they fit into memory that is not used yet. If the kernel has none or
 * may not give them, nothing changes. */
static inline void pages_want_huge(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
	size_t before = pages_before(memory);

	if (bytes >= before + HUGE_PAGE)
		madvise((char *)memory + before, (bytes - before) / HUGE_PAGE * HUGE_PAGE,
			MADV_HUGEPAGE);
#else
#endif
}

/* Takes the pages of memory that is zero, without changing it. Memory that is read before it is
 * written is one shared page of zeros first, and Linux before 6.13 replaces it by small pages. */
static inline void pages_take(void *memory, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
	size_t before = (uintptr_t)memory & (SMALL_PAGE - 1);

	if (madvise((char *)memory - before, before + bytes, MADV_POPULATE_WRITE) == 0)
		return;
#endif
	for (size_t at = 0; at < bytes; at += SMALL_PAGE)
		((volatile char *)memory)[at] = 0;
}

#endif
