/* SPDX-License-Identifier: MIT */
/* Memory of many pages: to be given it page by page takes longer than to fill it. */
#ifndef TRAIN_PAGES_H
#define TRAIN_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 1 << 21 };

/* Bytes from an address to the first huge page that begins there or behind. */
static inline size_t pages_before(const void *memory)
{
	return -(uintptr_t)memory & (HUGE_PAGE - 1);
}

/* Asks for huge pages wherever they fit into memory that was not used yet. Where the kernel has
 * none to give, or is told not to, all is as it was. */
static inline void pages_want_huge(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
	size_t before = pages_before(memory);

	if (bytes >= before + HUGE_PAGE)
		madvise((char *)memory + before, (bytes - before) / HUGE_PAGE * HUGE_PAGE,
			MADV_HUGEPAGE);
#else
	(void)memory;
	(void)bytes;
#endif
}

/* Takes the pages of memory that is zero, and stays so. What is read before it is written is at
 * first one page of zeros for all, which Linux before 6.13 replaces by small pages. */
static inline void pages_take(void *memory, size_t bytes)
{
	for (size_t at = pages_before(memory); at < bytes; at += HUGE_PAGE)
		((volatile char *)memory)[at] = 0;
}

#endif
