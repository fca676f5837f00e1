/* SPDX-License-Identifier: MIT */
/* What emulated.cc reports to the sanitizers, if it is built with one. */
#ifndef EMULATED_WATCH_H
#define EMULATED_WATCH_H

#include <stddef.h>
#include <ucontext.h>

#ifdef WATCH_STACKS
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WATCH_RACES
#include <sanitizer/tsan_interface.h>
#endif
#ifdef WATCH_VALUES
#include <sanitizer/msan_interface.h>
#endif

/* --- stacks: the stack that is left needs *kept to go on; kept is NULL: it does not go on */

static inline void watch_leave(void **kept, const void *stack, size_t bytes)
{
#ifdef WATCH_STACKS
	__sanitizer_start_switch_fiber(kept, stack, bytes);
#else
#endif
}

/* Hides the stack from the address sanitizer, which takes all of a known stack for unused whenever
 * its thread goes on. The value sanitizer must know it, because what is put there is new. */
static inline void watch_begin(ucontext_t *context)
{
#ifdef WATCH_STACKS
	context->uc_stack.ss_sp = NULL;
	context->uc_stack.ss_size = 0;
#else
#endif
}

static inline void watch_arrive(void *kept, const void **left, size_t *bytes)
{
#ifdef WATCH_STACKS
	__sanitizer_finish_switch_fiber(kept, left, bytes);
#else
#endif
}

/* --- races: who reads and writes, and in which order */

static inline void *watch_new(void)
{
#ifdef WATCH_RACES
	return __tsan_create_fiber(0);
#else
	return NULL;
#endif
}

static inline void *watch_self(void)
{
#ifdef WATCH_RACES
	return __tsan_get_current_fiber();
#else
	return NULL;
#endif
}

static inline void watch_as(void *name)
{
#ifdef WATCH_RACES
	__tsan_switch_to_fiber(name, __tsan_switch_to_fiber_no_sync);
#else
#endif
}

/* x stands for a barrier or the like: what was done before release() is seen after acquire(). */
static inline void release(void *x)
{
#ifdef WATCH_RACES
	__tsan_release(x);
#else
#endif
}

static inline void acquire(void *x)
{
#ifdef WATCH_RACES
	__tsan_acquire(x);
#else
#endif
}

/* --- values */

static inline void watch_unwritten(void *memory, size_t bytes)
{
#ifdef WATCH_VALUES
	__msan_poison(memory, bytes);
#else
#endif
}

#endif
