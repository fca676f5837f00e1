/* SPDX-License-Identifier: MIT */
/* See kernels.h. */
#include "kernels/device.cuh"

template <typename T>
static __global__ void RESIDENT(8)
	relu_values(const struct relu_backward_args a, const struct launch_split split)
{
	int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	int64_t step = (int64_t)gridDim.x * blockDim.x, wides = split.vectors * wide<T>;
	T *gradient = (T *)a.gradient;
	const T *output = (const T *)a.output;

	for (int64_t i = first; i < split.vectors; i += step) {
		int64_t at = split.head + i * wide<T>;
		vector<T, wide<T>> g = load<T, wide<T>>(gradient + at);

		zero_unpassed(&g, load<T, wide<T>>(output + at));
		store(gradient + at, g);
	}
	for (int64_t i = first; i < a.count - wides; i += step) {
		int64_t at = i < split.head ? i : i + wides;

		if (!(to_float(output[at]) > 0))
			set_float(&gradient[at], 0);
	}
}

template <typename T>
static cudaError_t launch_relu(const struct relu_backward_args *args, cudaStream_t stream)
{
	struct launch_split split =
		launch_split(args->count, args->gradient, sizeof(T), args->output, sizeof(T));

	return launch_kernel(relu_values<T>, launch_of_split(&split, args->count), stream, *args,
			     split);
}

extern "C" cudaError_t kernel_relu_backward(const struct relu_backward_args *args,
					    cudaStream_t stream)
{
	WITH_TYPE(args->type, launch_relu, args, stream);
}
