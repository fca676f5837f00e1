/* SPDX-License-Identifier: MIT */
/*
 * A piece is part of an image: each of its threads finds the image's place anew, which costs less
 * than to wait for one that does. A unit is WIDTH channels of a pixel.
 */
#include "kernels/device.cuh"
#include "kernels/philox.h"

enum { PIECE_UNITS = 2 * LAUNCH_THREADS };

/* random_philox() of philox.h. */
static __device__ inline void philox(uint32_t out[4], const uint32_t counter[4], uint32_t k0,
				     uint32_t k1)
{
	uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];

#pragma unroll
	for (int round = 0; round < 10; round++) {
		uint32_t p = __umulhi(0xd2511f53u, a), q = __umulhi(0xcd9e8d57u, c);
		uint32_t low_p = 0xd2511f53u * a, low_q = 0xcd9e8d57u * c;

		a = q ^ b ^ k0;
		b = low_q;
		c = p ^ d ^ k1;
		d = low_p;
		k0 += 0x9e3779b9u;
		k1 += 0xbb67ae85u;
	}
	out[0] = a;
	out[1] = b;
	out[2] = c;
	out[3] = d;
}

/* input_place(). */
static __device__ inline struct input_place place_of(const struct input_fill_args &a,
						     int64_t sample)
{
	struct input_place place = {(a.from_height - a.height) / 2, (a.from_width - a.width) / 2,
				    false};
	const uint32_t counter[4] = {(uint32_t)RANDOM_AUGMENT << 24, (uint32_t)a.control->epoch,
				     (uint32_t)sample, (uint32_t)((uint64_t)sample >> 32)};
	uint32_t bits[4];

	if (!a.augment)
		return place;
	philox(bits, counter, (uint32_t)a.seed, (uint32_t)(a.seed >> 32));
	place.mirrored = __umulhi(bits[0], 2) == 1;
	place.top += (int)__umulhi(bits[1], 2 * INPUT_PADDING + 1) - INPUT_PADDING;
	place.left += (int)__umulhi(bits[2], 2 * INPUT_PADDING + 1) - INPUT_PADDING;
	return place;
}

/* WIDTH channels from `channel` on of the pixel at (y, x) of what comes out. */
template <typename T, int WIDTH>
static __device__ inline vector<T, WIDTH>
pixel(const struct input_fill_args &a, const uint8_t *planes, const struct input_place &place,
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
	struct input_place place = place_of(a, sample);
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
	struct launch l = launch_pieces(args->batch * parts);

	if (!l.blocks)
		return cudaSuccess;
	fill_pieces<T, WIDTH><<<l.blocks, l.threads, 0, stream>>>(*args, (int)parts);
	return cudaGetLastError();
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
