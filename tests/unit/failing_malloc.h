/* SPDX-License-Identifier: MIT */
/*
 * Makes the n-th allocation of this program fail, libraries included. A test of
 * "every allocation may fail" is
 *
 *	for (size_t n = 1; ; n++) {
 *		allocations_fail_at(n);
 *		rc = function_under_test(...);
 *		allocations_fail_at(0);
 *		if (rc == GPUMAP_OK && !allocations_failed())
 *			break;
 *		ck_assert_int_eq(rc, GPUMAP_ENOMEM);
 *	}
 *
 * libcheck allocates too: assert only after allocations_fail_at(0).
 *
 * A program that links failing_malloc.c begins main with `if (!allocations_can_fail())
 * return allocations_skip();`. For one thread.
 */
#ifndef GM_FAILING_MALLOC_H
#define GM_FAILING_MALLOC_H

#include <stdbool.h>
#include <stddef.h>

/* Starts counting at 0; the n-th allocation from now on fails, once. 0: none does. */
void allocations_fail_at(size_t n);

/* Allocations (malloc, calloc, growing realloc; strdup and the like through them)
 * since the last allocations_fail_at. */
size_t allocations_count(void);

/* Whether the allocation that the last allocations_fail_at (but 0) chose has failed. */
bool allocations_failed(void);

/* From now on a byte is written to `fd` when an allocation fails; -1: no byte is written. */
void allocations_tell(int fd);

/* False under sanitizers, valgrind and a C library other than glibc, whose allocators
 * cannot be replaced. */
bool allocations_can_fail(void);

/* Says in TAP that the program is skipped, and why; the value for main to return. */
int allocations_skip(void);

#endif
