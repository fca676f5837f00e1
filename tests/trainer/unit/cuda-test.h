/* SPDX-License-Identifier: MIT */
/* Tests of the CUDA backend run on a GPU, or with FAKE_CUDA where one is pretended. */
#ifndef TRAIN_TESTS_CUDA_TEST_H
#define TRAIN_TESTS_CUDA_TEST_H

#include "unit.h"
#ifdef FAKE_CUDA
#include "fake_cuda.h"
#endif

/* The pretended libraries found nothing wrong, and nothing is left over. Each test is a process. */
static inline void cuda_test_end(const char *name)
{
#ifdef FAKE_CUDA
	char text[FAKE_CUDA_TEXT] = "";

	ck_assert_msg(fake_cuda_close(text), "%s: %s", name, text);
#else
#endif
}

static inline void cuda_test_begin(void)
{
#ifdef FAKE_CUDA
	fake_cuda_open(&(struct fake_cuda_options){.devices = 4, .simulated_time = true});
#endif
}

#endif
