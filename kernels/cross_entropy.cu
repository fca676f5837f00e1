/* SPDX-License-Identifier: MIT */
#include "kernels/softmax.cuh"

template <typename T> static __global__ void take_rows(const struct cross_entropy_args a, int lanes)
{
	int at_once = LAUNCH_THREADS / lanes;
	int64_t step = (int64_t)gridDim.x * at_once;
	double loss = 0;
	long long correct = 0;

	for (int64_t n = (int64_t)blockIdx.x * at_once; n < a.batch; n += step)
		take_row<T>(a, n + threadIdx.x / lanes, lanes, &loss, &correct);
	finish_loss(a, loss, correct);
}

template <typename T>
static cudaError_t launch_loss(const struct cross_entropy_args *args, cudaStream_t stream)
{
	struct launch l = launch_rows(args->batch, args->classes);

	if (!l.blocks)
		return cudaSuccess;
	take_rows<T><<<l.blocks, l.threads, 0, stream>>>(*args, launch_row_lanes(args->classes));
	return cudaGetLastError();
}

extern "C" cudaError_t kernel_cross_entropy(const struct cross_entropy_args *args,
					    cudaStream_t stream)
{
	WITH_TYPE(args->type, launch_loss, args, stream);
}
