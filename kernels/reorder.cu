/* SPDX-License-Identifier: MIT */
/*
 * Each image is a matrix, channels x places on the dense side and places x padded on the other: a
 * transposition. Tiles of it go through shared memory, so that both sides are read and written in
 * whole lines; images with few places have short lines, and are copied one by one in the order of
 * the result.
 */
#include "kernels/device.cuh"

enum { TILE = 32, TILE_ROWS = LAUNCH_THREADS / TILE };

/* One side of the matrix: value (row, column) of an image lies at row * pitch + column. */
struct side {
	int64_t image, pitch; /* values of an image, and of a row */
	int rows, columns;    /* that are there */
};

struct transposition {
	struct side from, to; /* from (r, c) goes to (c, r) */
};

static struct transposition transposition_of(const struct reorder_args *a)
{
	int places = a->height * a->width;
	const struct side dense = {(int64_t)a->channels * places, places, a->channels, places};
	const struct side padded = {(int64_t)a->padded * places, a->padded, places, a->padded};
	struct transposition t = {dense, padded};

	if (!a->to_nhwc) {
		t.from = padded;
		t.to = dense;
	}
	return t;
}

/* The padding of the result is zero. */
template <typename From>
static __device__ inline float value_at(const From *from, const struct side &s, int row, int column)
{
	return row < s.rows && column < s.columns ? to_float(from[row * s.pitch + column]) : 0;
}

template <typename From, typename To>
static __global__ void transpose_tiles(const struct reorder_args a, const struct transposition t,
				       int tiles_down, int tiles_across)
{
	__shared__ float tile[TILE][TILE + 1];
	int lane = (int)threadIdx.x % TILE, first = (int)threadIdx.x / TILE;
	int64_t tiles = (int64_t)tiles_down * tiles_across;

	for (int64_t i = blockIdx.x; i < a.batch * tiles; i += gridDim.x) {
		int in_image = (int)(i % tiles);
		int row = in_image / tiles_across * TILE, column = in_image % tiles_across * TILE;
		const From *from = (const From *)a.from + i / tiles * t.from.image;
		To *to = (To *)a.to + i / tiles * t.to.image;

		for (int k = first; k < TILE; k += TILE_ROWS)
			tile[k][lane] = value_at(from, t.from, row + k, column + lane);
		__syncthreads();
		for (int k = first; k < TILE; k += TILE_ROWS)
			if (column + k < t.to.rows && row + lane < t.to.columns)
				set_float(&to[(column + k) * t.to.pitch + row + lane],
					  tile[lane][k]);
		__syncthreads();
	}
}

template <typename From, typename To>
static __global__ void transpose_values(const struct reorder_args a, const struct transposition t)
{
	int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	int64_t step = (int64_t)gridDim.x * blockDim.x;

	for (int64_t i = first; i < a.batch * t.to.image; i += step) {
		int64_t at = i % t.to.image;
		const From *from = (const From *)a.from + i / t.to.image * t.from.image;

		set_float((To *)a.to + i,
			  value_at(from, t.from, (int)(at % t.to.pitch), (int)(at / t.to.pitch)));
	}
}

template <typename From, typename To>
static cudaError_t launch_reorder(const struct reorder_args *args, cudaStream_t stream)
{
	struct transposition t = transposition_of(args);
	int down = (int)launch_divide_up(args->to_nhwc ? args->padded : t.from.rows, TILE);
	int across = (int)launch_divide_up(args->to_nhwc ? t.from.columns : args->channels, TILE);
	bool tiled = t.from.rows >= TILE / 2 && t.from.columns >= TILE / 2;
	struct launch l = tiled ? launch_pieces(args->batch * down * across)
				: launch_elements(args->batch * t.to.image);

	return tiled ? launch_kernel(transpose_tiles<From, To>, l, stream, *args, t, down, across)
		     : launch_kernel(transpose_values<From, To>, l, stream, *args, t);
}

template <typename To>
static cudaError_t reorder_to(const struct reorder_args *args, cudaStream_t stream)
{
	WITH_TYPE(args->from_type, launch_reorder, args, stream, To);
}

extern "C" cudaError_t kernel_reorder(const struct reorder_args *args, cudaStream_t stream)
{
	WITH_TYPE(args->to_type, reorder_to, args, stream);
}
