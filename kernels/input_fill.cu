/* SPDX-License-Identifier: MIT */
/*
 * A piece is part of an image. Each of its threads computes the crop of the image, because waiting
 * for one thread would cost more. A unit is WIDTH channels of a pixel.
 */
#include "kernels/augment.h"
#include "kernels/device.cuh"

enum { PIECE_UNITS = 2 * LAUNCH_THREADS };

/* WIDTH channels from `channel` on of the pixel at (y, x) of the result. */
template <typename T, int WIDTH>
static __device__ inline vector<T, WIDTH>
pixel(const struct input_fill_args &a, const uint8_t *planes, const struct augment_place &place,
      int y, int x, int channel)
{
	int from_y = place.top + y, from_x = place.left + (place.mirrored ? a.width - 1 - x : x);
	bool inside = from_y >= 0 && from_y < a.from_height && from_x >= 0 && from_x < a.from_width;
	int64_t plane = (int64_t)a.from_height * a.from_width;
	int64_t at = (int64_t)from_y * a.from_width + from_x;
	vector<T, WIDTH> v;

#pragma unroll
	for (int k = 0; k < WIDTH; k++) {
		int c = channel + k;
		float value = 0;

		if (c < a.channels)
			value = a.values[256 * c + (inside ? planes[c * plane + at] : 0)];
		set_float(&v.values[k], value);
	}
	return v;
}

template <typename T, int WIDTH>
static __device__ inline void fill_piece(const struct input_fill_args &a, int64_t row, int part)
{
	int64_t sample = a.indices[row];
	int64_t record = 1 + (int64_t)a.channels * a.from_height * a.from_width;
	const uint8_t *from = a.records + sample * record;
	const struct augment_cut cut = {a.from_height, a.from_width,   a.height,
					a.width,       a.augment != 0, a.seed};
	struct augment_place place = augment_place(&cut, a.control->epoch, sample);
	int groups = a.padded / WIDTH, units = a.height * a.width * groups;
	int end = min(units, (part + 1) * PIECE_UNITS);
	T *to = (T *)a.images + row * a.height * a.width * a.padded;

	if (part == 0 && threadIdx.x == 0)
		a.labels[row] = from[0];
	for (int i = part * PIECE_UNITS + (int)threadIdx.x; i < end; i += LAUNCH_THREADS) {
		int at = i / groups, channel = i % groups * WIDTH;

		store(to + (int64_t)i * WIDTH,
		      pixel<T, WIDTH>(a, from + 1, place, at / a.width, at % a.width, channel));
	}
}

template <typename T, int WIDTH>
static __global__ void fill_pieces(const struct input_fill_args a, int parts)
{
	int64_t rows = min((int64_t)a.control->rows, a.batch);

	for (int64_t i = blockIdx.x; i < rows * parts; i += gridDim.x)
		fill_piece<T, WIDTH>(a, i / parts, (int)(i % parts));
}

template <typename T, int WIDTH>
static cudaError_t launch_fill_width(const struct input_fill_args *args, cudaStream_t stream)
{
	int64_t units = (int64_t)args->height * args->width * (args->padded / WIDTH);
	int64_t parts = launch_divide_up(units, PIECE_UNITS);

	return launch_kernel(fill_pieces<T, WIDTH>, launch_pieces(args->batch * parts), stream,
			     *args, (int)parts);
}

template <typename T>
static cudaError_t launch_fill(const struct input_fill_args *args, cudaStream_t stream)
{
	if (args->padded % wide<T> == 0)
		return launch_fill_width<T, wide<T>>(args, stream);
	return launch_fill_width<T, 1>(args, stream);
}

extern "C" cudaError_t kernel_input_fill(const struct input_fill_args *args, cudaStream_t stream)
{
	WITH_TYPE(args->type, launch_fill, args, stream);
}
