/* SPDX-License-Identifier: MIT */
/* See kernels.h. */
#include "kernels/device.cuh"

template <typename From, typename To> static __device__ inline void convert_value(To *to, From from)
{
	set_float(to, to_float(from));
}

/* A conversion to the same type keeps every bit, also those of a NaN. */
template <typename T> static __device__ inline void convert_value(T *to, T from)
{
	*to = from;
}

/* PER values: 16 bytes of the narrower type. The wider type may need two loads. */
template <typename From, typename To, int PER>
static __device__ inline void convert_wide(To *to, const From *from)
{
	constexpr int in = wide<From> < PER ? wide<From> : PER;
	constexpr int out = wide<To> < PER ? wide<To> : PER;
	vector<From, in> source[PER / in];
	vector<To, out> result[PER / out];

#pragma unroll
	for (int i = 0; i < PER / in; i++)
		source[i] = load<From, in>(from + i * in);
#pragma unroll
	for (int k = 0; k < PER; k++)
		convert_value(&result[k / out].values[k % out], source[k / in].values[k % in]);
#pragma unroll
	for (int i = 0; i < PER / out; i++)
		store(to + i * out, result[i]);
}

template <typename From, typename To>
static __global__ void RESIDENT(8)
	convert_values(const struct convert_args a, const struct launch_split split)
{
	constexpr int per = sizeof(From) < sizeof(To) ? wide<From> : wide<To>;
	int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	int64_t step = (int64_t)gridDim.x * blockDim.x, wides = split.vectors * per;
	const From *from = (const From *)a.from;
	To *to = (To *)a.to;

	for (int64_t i = first; i < split.vectors; i += step) {
		int64_t at = split.head + i * per;

		convert_wide<From, To, per>(to + at, from + at);
	}
	for (int64_t i = first; i < a.count - wides; i += step) {
		int64_t at = i < split.head ? i : i + wides;

		convert_value(&to[at], from[at]);
	}
}

template <typename From, typename To>
static cudaError_t launch_convert(const struct convert_args *args, cudaStream_t stream)
{
	struct launch_split split =
		launch_split(args->count, args->from, sizeof(From), args->to, sizeof(To));

	return launch_kernel(convert_values<From, To>, launch_of_split(&split, args->count), stream,
			     *args, split);
}

template <typename To>
static cudaError_t convert_to(const struct convert_args *args, cudaStream_t stream)
{
	WITH_TYPE(args->from_type, launch_convert, args, stream, To);
}

extern "C" cudaError_t kernel_convert(const struct convert_args *args, cudaStream_t stream)
{
	WITH_TYPE(args->to_type, convert_to, args, stream);
}
