/* SPDX-License-Identifier: MIT */
/*
 * A table of CUDA calls around another one. Its n-th call fails, of all calls by all threads that
 * return a status. A call that fails is not made, except one that frees or ends something: that is
 * made and reports a failure, as real ones report what went wrong before them.
 */
#ifndef TEST_INJECT_H
#define TEST_INJECT_H

#include "backend/cuda/calls.h"

/* Puts wrappers in place of the calls of this library in the table. Those of all threads share one
 * table behind them, the last that was wrapped. */
void inject_wrap(struct cuda_calls *calls, enum cuda_library library);

/* The n-th call from now on fails, 1 being the next; 0: none. Calls are counted anew. With
 * `lasting` all after it fail too, as after an error that a device does not recover from. */
void inject_at(uint64_t n, bool lasting);

/* From now on calls of this name alone are counted, the n-th of them fails, and none that begins
 * after it returns. */
void inject_hang(const char *name);

/* Calls since then; and the one that failed first, or CUDA_CALLS. */
uint64_t inject_count(void);
enum cuda_call inject_failed(void);

/* What a failing call of this library returns. */
int inject_status(enum cuda_library library);

#endif
