/* SPDX-License-Identifier: MIT */
/* See gradient_measure.h. */
#include "kernels/device.cuh"
#include "kernels/scaler.cuh"

/* Squares of floats are far below the greatest double, so their sum is infinite only if one of them
 * is. */
static __device__ inline double square(float gradient, float scale)
{
	float scaled = __fmul_rn(gradient, scale);

	return (double)scaled * (double)scaled;
}

static __device__ inline double sum_chunk(const float *g, int count, float scale)
{
	int head = (int)min((int64_t)count, (int64_t)(-(intptr_t)g / 4 & 3));
	int vectors = (count - head) / wide<float>, single = count - vectors * wide<float>;
	double sum = 0;

#pragma unroll 4
	for (int i = (int)threadIdx.x; i < vectors; i += LAUNCH_THREADS) {
		vector<float, wide<float>> v = load<float, wide<float>>(g + head + i * wide<float>);

#pragma unroll
		for (int k = 0; k < wide<float>; k++)
			sum += square(v.values[k], scale);
	}
	for (int i = (int)threadIdx.x; i < single; i += LAUNCH_THREADS)
		sum += square(g[i < head ? i : i + vectors * wide<float>], scale);
	return sum;
}

/* The sum of squares of the p-th of these parameters, by one warp; valid in its first lane. */
static __device__ inline double squares_of(const struct gradient_measure_args &a, int p,
					   const double *sums)
{
	int end = a.starts[p + 1];
	double sum = 0;

#pragma unroll 8
	for (int i = a.starts[p] + (int)threadIdx.x % 32; i < end; i += 32)
		sum += sums[i];
	for (int n = 16; n > 0; n /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, n);
	return sum;
}

static __device__ inline float norm_of(const float *norms, int first, int end)
{
	double sum = 0;

	for (int p = first; p < end; p++)
		sum += (double)norms[p] * (double)norms[p];
	return (float)sqrt(sum);
}

static __device__ inline void finish_measure(const struct gradient_measure_args &a,
					     const double *sums)
{
	__shared__ float norms[GRADIENT_MAX_PARAMETERS];
	__shared__ bool infinite[GRADIENT_MAX_PARAMETERS];
	int end = a.before + a.parameters;
	bool found = false;

	for (int p = (int)threadIdx.x; p < GRADIENT_MAX_PARAMETERS; p += LAUNCH_THREADS)
		if (p < a.before || p >= end)
			a.measure->norms[p] = 0;
	for (int p = a.before + (int)threadIdx.x / 32; p < end; p += LAUNCH_THREADS / 32) {
		double sum = squares_of(a, p - a.before, sums);

		if (threadIdx.x % 32 == 0) {
			norms[p] = (float)sqrt(sum);
			infinite[p] = !isfinite(sum);
			a.measure->norms[p] = norms[p];
		}
	}
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	for (int p = a.before; p < end; p++)
		found = found || infinite[p];
	a.measure->norm = norm_of(norms, a.before, end);
	a.measure->found_inf = found ? 1 : 0;
}

static __global__ void RESIDENT(8) measure_chunks(const struct gradient_measure_args a)
{
	double *sums = (double *)((char *)a.scratch + KERNEL_TICKET_BYTES);
	float scale = inverse_scale(a.scaler);

	for (int i = (int)blockIdx.x; i < a.chunk_count; i += (int)gridDim.x) {
		const struct chunk chunk = a.chunks[i];
		double sum = block_sum(sum_chunk(a.gradients + chunk.first, chunk.count, scale));

		if (threadIdx.x == 0)
			sums[i] = sum;
	}
	if (comes_last((unsigned *)a.scratch, gridDim.x))
		finish_measure(a, sums);
}

/* Without chunks there is still a norm: 0. */
extern "C" cudaError_t kernel_gradient_measure(const struct gradient_measure_args *args,
					       cudaStream_t stream)
{
	return launch_kernel(measure_chunks,
			     launch_pieces(args->chunk_count > 0 ? args->chunk_count : 1), stream,
			     *args);
}

static __global__ void measure_all(struct gradient_measure *measure)
{
	measure->norm = norm_of(measure->norms, 0, GRADIENT_MAX_PARAMETERS);
}

extern "C" cudaError_t kernel_gradient_norm(const struct gradient_norm_args *args,
					    cudaStream_t stream)
{
	measure_all<<<1, 1, 0, stream>>>(args->measure);
	return cudaGetLastError();
}
