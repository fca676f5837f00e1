/* SPDX-License-Identifier: MIT */
/* Calls of operations on a device: it becomes the current one, errors name it, and libraries are
 * opened when they are needed. */
#include "config.h"

#include <pthread.h>

#include "backend/cuda/cuda.h"

static pthread_mutex_t captures = PTHREAD_MUTEX_INITIALIZER;

void cuda_captures_lock(void)
{
	pthread_mutex_lock(&captures);
}

void cuda_captures_unlock(void)
{
	pthread_mutex_unlock(&captures);
}

bool cuda_use(struct cuda_device *d, struct train_error *error)
{
	return CUDA_DO(d, RUNTIME, cudaSetDevice, (d->ordinal), error);
}

void cuda_use_last(struct cuda_device *d)
{
	CUDA_END(d, RUNTIME, cudaSetDevice, (d->ordinal));
}

bool cuda_done(const struct cuda_device *d, enum cuda_library library, int status, const char *call,
	       struct train_error *error)
{
	return status == 0 || cuda_calls_fail(d->calls, library, status, call, d->where, error);
}

bool cuda_want_cudnn(struct cuda_device *d, struct train_error *error)
{
	bool done;

	if (d->cudnn)
		return true;
	cuda_captures_lock();
	done = CUDA_DO(d, CUDNN, cudnnCreate, (&d->cudnn), error) &&
	       CUDA_DO(d, CUDNN, cudnnSetStream, (d->cudnn, d->stream), error);
	cuda_captures_unlock();
	return done;
}

bool cuda_want_cublaslt(struct cuda_device *d, struct train_error *error)
{
	bool done;

	if (d->cublaslt)
		return true;
	cuda_captures_lock();
	done = CUDA_DO(d, CUBLASLT, cublasLtCreate, (&d->cublaslt), error);
	cuda_captures_unlock();
	return done;
}
