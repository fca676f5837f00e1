/* SPDX-License-Identifier: MIT */
/* See kernels.h. */
#include "kernels/device.cuh"

static __device__ inline float sum_of(float a, float b, bool relu)
{
	float sum = a + b;

	return relu && sum < 0 ? 0 : sum;
}

template <typename T>
static __global__ void RESIDENT(8)
	add_values(const struct residual_add_args args, const struct launch_split split)
{
	int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	int64_t step = (int64_t)gridDim.x * blockDim.x, wides = split.vectors * wide<T>;
	const T *a = (const T *)args.a, *b = (const T *)args.b;
	T *output = (T *)args.output;
	bool relu = args.relu;

	for (int64_t i = first; i < split.vectors; i += step) {
		vector<T, wide<T>> sum = load<T, wide<T>>(a + i * wide<T>);
		vector<T, wide<T>> more = load<T, wide<T>>(b + i * wide<T>);

#pragma unroll
		for (int k = 0; k < wide<T>; k++)
			set_float(&sum.values[k],
				  sum_of(to_float(sum.values[k]), to_float(more.values[k]), relu));
		store(output + i * wide<T>, sum);
	}
	for (int64_t i = wides + first; i < args.count; i += step)
		set_float(&output[i], sum_of(to_float(a[i]), to_float(b[i]), relu));
}

template <typename T>
static cudaError_t launch_residual_add(const struct residual_add_args *args, cudaStream_t stream)
{
	struct launch_split split = {0, args->count / wide<T>, wide<T>};

	return launch_kernel(add_values<T>, launch_of_split(&split, args->count), stream, *args,
			     split);
}

extern "C" cudaError_t kernel_residual_add(const struct residual_add_args *args,
					   cudaStream_t stream)
{
	WITH_TYPE(args->type, launch_residual_add, args, stream);
}
