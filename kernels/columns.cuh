/* SPDX-License-Identifier: MIT */
/* Sums over rows, as launch_columns() divides them: adds the partial sums of threads. */
#ifndef KERNELS_COLUMNS_CUH
#define KERNELS_COLUMNS_CUH

#include "kernels/device.cuh"

/* The place of a thread: its first column, and its first row and every step-th after it. */
struct column_place {
	int64_t column, row, step;
};

static __device__ inline struct column_place column_place(const struct launch_columns &l)
{
	int64_t across = (int64_t)blockIdx.x * l.across + threadIdx.x % l.across;
	int64_t down = (int64_t)blockIdx.y * l.down + threadIdx.x / l.across;
	struct column_place place = {across * l.width, down, (int64_t)gridDim.y * l.down};

	return place;
}

/* Launches a kernel with several columns in a thread, or with one if rows are not aligned. */
template <typename ARGS, typename... MORE>
static cudaError_t launch_width(void (*several)(ARGS, struct launch_columns, MORE...),
				void (*one)(ARGS, struct launch_columns, MORE...), const ARGS &args,
				const struct launch_columns &l, cudaStream_t stream, MORE... more)
{
	dim3 grid(l.blocks_x, l.blocks_y);

	if (!l.blocks_x || !l.blocks_y)
		return cudaSuccess;
	if (l.width > 1)
		several<<<grid, l.threads, 0, stream>>>(args, l, more...);
	else
		one<<<grid, l.threads, 0, stream>>>(args, l, more...);
	return cudaGetLastError();
}

/*
 * Adds the values of a block's threads, `across` of them side by side: afterwards the first
 * `across` threads have the sums. parts: WIDTH * LAUNCH_THREADS floats of shared memory.
 */
template <int WIDTH>
static __device__ inline void add_down(float (&mine)[WIDTH], int across, float *parts)
{
	__syncthreads(); /* parts may still be read */
#pragma unroll
	for (int k = 0; k < WIDTH; k++)
		parts[k * LAUNCH_THREADS + threadIdx.x] = mine[k];
	for (int n = LAUNCH_THREADS / 2; n >= across; n /= 2) {
		__syncthreads();
		if ((int)threadIdx.x < n) {
#pragma unroll
			for (int k = 0; k < WIDTH; k++) {
				mine[k] += parts[k * LAUNCH_THREADS + threadIdx.x + n];
				parts[k * LAUNCH_THREADS + threadIdx.x] = mine[k];
			}
		}
	}
}

/* sums[c] = the sum over y of partial[y][c], by one block, WIDTH columns per thread. */
template <int WIDTH>
static __device__ inline void add_partial(float *sums, const float *partial, int64_t columns,
					  unsigned blocks_y, float *parts)
{
	int across = 1;

	while (across < LAUNCH_THREADS && across * WIDTH < columns)
		across *= 2;
	for (int64_t base = 0; base < columns; base += (int64_t)across * WIDTH) {
		int64_t column = base + (int64_t)(threadIdx.x % across) * WIDTH;
		float mine[WIDTH] = {0};

		if (column < columns) {
#pragma unroll 8
			for (unsigned y = threadIdx.x / across; y < blocks_y;
			     y += LAUNCH_THREADS / across) {
				vector<float, WIDTH> v =
					load<float, WIDTH>(partial + y * columns + column);

				for (int k = 0; k < WIDTH; k++)
					mine[k] += v.values[k];
			}
		}
		add_down<WIDTH>(mine, across, parts);
		if ((int)threadIdx.x < across && column < columns)
			for (int k = 0; k < WIDTH; k++)
				sums[column + k] = mine[k];
	}
}

/* Adds each thread's sums of its columns to those of all. All threads call it, once. */
template <int WIDTH>
static __device__ inline void finish_columns(float (&mine)[WIDTH], const struct launch_columns &l,
					     int64_t columns, float *sums, void *scratch)
{
	/* The last block adds by four columns, which may be more than WIDTH. */
	__shared__ float parts[(WIDTH > 4 ? WIDTH : 4) * LAUNCH_THREADS];
	float *partial = (float *)((char *)scratch + KERNEL_TICKET_BYTES);
	int64_t column = column_place(l).column;

	add_down<WIDTH>(mine, l.across, parts);
	if ((int)threadIdx.x < l.across && column < columns)
#pragma unroll
		for (int k = 0; k < WIDTH; k++)
			partial[blockIdx.y * columns + column + k] = mine[k];
	if (!comes_last((unsigned *)scratch, gridDim.x * gridDim.y))
		return;
	if (columns % 4 == 0)
		add_partial<4>(sums, partial, columns, gridDim.y, parts);
	else
		add_partial<1>(sums, partial, columns, gridDim.y, parts);
}

/*
 * The same for two sums of each column. True in the last block, where `sums`, first those of
 * `first`, then those of `second`, are complete and all threads see them.
 */
template <int WIDTH>
static __device__ inline bool finish_two_sums(float (&first)[WIDTH], float (&second)[WIDTH],
					      const struct launch_columns &l, int64_t columns,
					      float *sums, void *scratch)
{
	__shared__ float parts[(WIDTH > 4 ? WIDTH : 4) * LAUNCH_THREADS];
	float *partial = (float *)((char *)scratch + KERNEL_TICKET_BYTES);
	int64_t column = column_place(l).column, row = 2 * columns * blockIdx.y;

	add_down<WIDTH>(first, l.across, parts);
	add_down<WIDTH>(second, l.across, parts);
	if ((int)threadIdx.x < l.across && column < columns)
#pragma unroll
		for (int k = 0; k < WIDTH; k++) {
			partial[row + column + k] = first[k];
			partial[row + columns + column + k] = second[k];
		}
	if (!comes_last((unsigned *)scratch, gridDim.x * gridDim.y))
		return false;
	if (columns % 2 == 0)
		add_partial<4>(sums, partial, 2 * columns, gridDim.y, parts);
	else
		add_partial<1>(sums, partial, 2 * columns, gridDim.y, parts);
	__syncthreads();
	return true;
}

#endif
