/* SPDX-License-Identifier: MIT */
/* See kernels.h. */
#include "kernels/device.cuh"

static __global__ void RESIDENT(8)
	add_floats(const struct accumulate_args a, const struct launch_split split)
{
	int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	int64_t step = (int64_t)gridDim.x * blockDim.x, wides = split.vectors * wide<float>;

	for (int64_t i = first; i < split.vectors; i += step) {
		float *at = a.sum + split.head + i * wide<float>;
		vector<float, wide<float>> sum = load<float, wide<float>>(at);
		vector<float, wide<float>> more =
			load<float, wide<float>>(a.more + split.head + i * wide<float>);

#pragma unroll
		for (int k = 0; k < wide<float>; k++)
			sum.values[k] += more.values[k];
		store(at, sum);
	}
	for (int64_t i = first; i < a.count - wides; i += step) {
		int64_t at = i < split.head ? i : i + wides;

		a.sum[at] += a.more[at];
	}
}

extern "C" cudaError_t kernel_accumulate(const struct accumulate_args *args, cudaStream_t stream)
{
	struct launch_split split =
		launch_split(args->count, args->sum, sizeof(float), args->more, sizeof(float));

	return launch_kernel(add_floats, launch_of_split(&split, args->count), stream, *args,
			     split);
}
