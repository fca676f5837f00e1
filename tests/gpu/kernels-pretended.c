/* SPDX-License-Identifier: MIT */
/*
 * Pretended kernels, for the tests of these tests: each is its reference.
 * PRETENDED_FAULT=KERNEL:WHAT plants a fault in one: "illegal" is an illegal access, after which
 * all calls of the process fail; "hangs": it says so and does not come to its end; "killed": the
 * process is killed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulated-runtime.h"
#include "kernels/launchers.h"
#include "tests/trainer/kernels/references.h"

/* What is planted in a kernel, or NULL. */
static const char *planted(const char *name)
{
	const char *fault = getenv("PRETENDED_FAULT");
	size_t length = strlen(name);

	return fault && strncmp(fault, name, length) == 0 && fault[length] == ':'
		       ? fault + length + 1
		       : NULL;
}

static cudaError_t end(const char *name)
{
	const char *what = planted(name);

	if (what && strcmp(what, "illegal") == 0)
		emulated_status = cudaErrorIllegalAddress;
	if (what && strcmp(what, "hangs") == 0) {
		fprintf(stderr, "%s hangs\n", name);
		pause();
	}
	if (what && strcmp(what, "killed") == 0)
		kill(getpid(), SIGKILL);
	return cudaSuccess; /* as a launch does, whose kernel fails later */
}

#define KERNEL(name, args_struct) \
	cudaError_t kernel_##name(const struct args_struct *args, cudaStream_t stream) \
	{ \
		(void)stream; \
		if (emulated_status != cudaSuccess) \
			return emulated_status; \
		reference_##name(args); \
		return end(#name); \
	}
#include "kernels/kernels.def"
#undef KERNEL
