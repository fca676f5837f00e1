/* SPDX-License-Identifier: MIT */
/*
 * Stands in place of backend/cuda/calls_load.c in a gpumap-train whose GPUs are pretended, or with
 * REAL_CUDA around it. $FAKE_CUDA_MISSING names libraries that are missing; the $FAKE_CUDA_FAIL-th
 * call and all after it fail, or with $FAKE_CUDA_ONCE it alone. With $FAKE_CUDA_HANG=NAME the
 * $FAKE_CUDA_FAIL-th call of that name fails, and none after it returns. $FAKE_CUDA_LOST=GPU:N
 * loses that GPU with the N-th launch of a graph: its work fails from then on, and `gpumap pretend`
 * learns it by $GPUMAP_PRETEND_USE. With $FAKE_CUDA_STUCK=GPU:N no work of that GPU ends after the
 * N-th launch, or, with N below 0, after the first pass that is not recorded and follows launch -N.
 * With $FAKE_CUDA_COUNT the number of calls is printed at the end, and how often a stream was
 * waited for and a recorded graph was run.
 */
#include "config.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "inject.h"

/* The backend and NCCL's collective load a table each, but counting begins once. */
static atomic_flag begun = ATOMIC_FLAG_INIT;

static bool load_filled(struct cuda_calls *calls, enum cuda_library library,
			struct train_error *error);

#ifdef REAL_CUDA
#define cuda_calls_load load_filled
#include "backend/cuda/calls_load.c"
#undef cuda_calls_load
#else
#include "fake_cuda.h"

static bool load_filled(struct cuda_calls *calls, enum cuda_library library,
			struct train_error *error)
{
	fake_cuda_fill(calls, library);
	return true;
}
#endif

static void lose(int gpu)
{
	const char *path = getenv("GPUMAP_PRETEND_USE");
	FILE *use = path ? fopen(path, "ae") : NULL;

	if (use) {
		fprintf(use, "%d lost\n", gpu);
		fclose(use);
	}
#ifndef REAL_CUDA
	fake_cuda_break(gpu, cudaErrorLaunchFailure);
#endif
}

static void hang(int gpu)
{
#ifndef REAL_CUDA
	fake_cuda_hang(gpu);
#else
#endif
}

static int lost_gpu, stuck_gpu;
static unsigned long lost_at, stuck_at, stuck_after; /* 0: never */
static atomic_ulong waits, launches;
static cudaError_t (*query)(cudaStream_t stream);
static cudaError_t (*synchronize)(cudaStream_t stream);
static cudaError_t (*launch)(cudaGraphExec_t graph, cudaStream_t stream);
static cudaError_t (*fill)(const struct input_fill_args *args, cudaStream_t stream);

static cudaError_t counted_query(cudaStream_t stream)
{
	cudaError_t status = query(stream);

	atomic_fetch_add(&waits, status == cudaSuccess);
	return status;
}

static cudaError_t counted_synchronize(cudaStream_t stream)
{
	atomic_fetch_add(&waits, 1);
	return synchronize(stream);
}

static cudaError_t counted_launch(cudaGraphExec_t graph, cudaStream_t stream)
{
	unsigned long now = atomic_fetch_add(&launches, 1) + 1;

	if (now == lost_at)
		lose(lost_gpu);
	if (now == stuck_at)
		hang(stuck_gpu);
	return launch(graph, stream);
}

static cudaError_t filling(const struct input_fill_args *args, cudaStream_t stream)
{
	if (stuck_after > 0 && atomic_load(&launches) >= stuck_after)
		hang(stuck_gpu);
	return fill(args, stream);
}

static void count_some(struct cuda_calls *calls)
{
	query = calls->cudaStreamQuery;
	synchronize = calls->cudaStreamSynchronize;
	launch = calls->cudaGraphLaunch;
	calls->cudaStreamQuery = counted_query;
	calls->cudaStreamSynchronize = counted_synchronize;
	calls->cudaGraphLaunch = counted_launch;
}

static void print_count(void)
{
	fprintf(stderr, "calls: %" PRIu64 "\nwaits: %lu\nlaunches: %lu\n", inject_count(),
		atomic_load(&waits), atomic_load(&launches));
}

/* A failure that is reported sets an alarm that ends the process, even if the run goes on well. So
 * a failure that the run tolerates must not be reported. */
static void no_alarm_behind(int status, void *argument)
{
	struct itimerval left;

	if (status != 0 || getitimer(ITIMER_REAL, &left) != 0 ||
	    (left.it_value.tv_sec == 0 && left.it_value.tv_usec == 0))
		return;
	fputs("a device's failure was reported, and the run went on\n", stderr);
	_exit(70);
}

bool cuda_calls_load(struct cuda_calls *calls, enum cuda_library library, struct train_error *error)
{
	const char *missing = getenv("FAKE_CUDA_MISSING"), *fail = getenv("FAKE_CUDA_FAIL");
	const char *hanging = getenv("FAKE_CUDA_HANG"), *lost = getenv("FAKE_CUDA_LOST");
	const char *stuck = getenv("FAKE_CUDA_STUCK");
	long at;

	if (missing && strstr(missing, cuda_library_name(library)))
		return train_fail(error, TRAIN_NO_BACKEND, "%s is missing: install it",
				  cuda_library_name(library));
	if (!load_filled(calls, library, error))
		return false;
	if (library == CUDA_LIBRARY_RUNTIME)
		count_some(calls);
	if (library == CUDA_LIBRARY_KERNELS) {
		fill = calls->kernel_input_fill;
		calls->kernel_input_fill = filling;
	}
	inject_wrap(calls, library);
	if (library != CUDA_LIBRARY_RUNTIME || atomic_flag_test_and_set(&begun))
		return true;
	if (hanging)
		inject_hang(hanging);
	if (lost)
		sscanf(lost, "%d:%lu", &lost_gpu, &lost_at);
	if (stuck && sscanf(stuck, "%d:%ld", &stuck_gpu, &at) == 2) {
		stuck_at = at > 0 ? (unsigned long)at : 0;
		stuck_after = at < 0 ? (unsigned long)-at : 0;
	}
	inject_at(fail ? strtoull(fail, NULL, 10) : 0, !getenv("FAKE_CUDA_ONCE"));
	if (getenv("FAKE_CUDA_COUNT"))
		atexit(print_count);
	on_exit(no_alarm_behind, NULL);
	return true;
}
