/* SPDX-License-Identifier: MIT */
/* Memory of many pages: to be given it page by page takes longer than to fill it. */
#ifndef TRAIN_PAGES_H
#define TRAIN_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 1 << 21 };

/* Asks for huge pages wherever they fit into memory that was not used yet. Where the kernel has
 * none to give, or is told not to, all is as it was. */
static inline void want_huge_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
	size_t before = -(uintptr_t)memory & (HUGE_PAGE - 1);

	if (bytes >= before + HUGE_PAGE)
		madvise((char *)memory + before, (bytes - before) / HUGE_PAGE * HUGE_PAGE,
			MADV_HUGEPAGE);
#else
	(void)memory;
	(void)bytes;
#endif
}

#endif
