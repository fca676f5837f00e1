/* SPDX-License-Identifier: MIT */
/* See pool.h. */
#include "backend/cpu/pool.h"

#include <math.h>
#include <string.h>

#include "backend/cpu/values.h"

/* The most channels at a time. The loops over them have a constant count, and what they choose is
 * as wide as their values, so that compilers vectorize them. The kernel's size and the type are
 * constants too where these functions are inlined. */
enum { LANES = 16 };

struct pass {
	const struct cpu_pool *pool;
	const void *input, *output, *output_gradient;
	void *write; /* output, or the input's gradient */
	uint8_t *chosen;
};

/* The value comes from cpu_get(), so nothing is rounded. */
SIMD_BODY void set(bool half, void *to, int64_t index, float value)
{
	if (half)
		((uint16_t *)to)[index] = (uint16_t)(float_bits(value) >> 16);
	else
		((float *)to)[index] = value;
}

/* Value k of a window, for some channels. As in PyTorch the first of equal values counts, and a NaN
 * is greater than all. */
SIMD_BODY void consider(bool half, int lanes, const void *input, int64_t at, int k, float *max,
			int32_t *best)
{
#pragma omp simd
	for (int l = 0; l < lanes; l++) {
		float value = cpu_get(half, input, at + l);
		bool more = (value > max[l]) | (value != value);

		max[l] = more ? value : max[l];
		best[l] = more ? k : best[l];
	}
}

/* Writes outputs, and which place of its window each has chosen. Bytes may alias any object and so
 * prevent vectorizing; therefore they pass through a local array, here and in read_gradient(). */
SIMD_BODY void write_chosen(bool half, int lanes, const struct pass *p, int64_t out,
			    const float *max, const int32_t *best)
{
	uint8_t chosen[LANES];

	for (int l = 0; l < lanes; l++)
		set(half, p->write, out + l, max[l]);
	for (int l = 0; l < lanes; l++)
		chosen[l] = (uint8_t)best[l];
	memcpy(p->chosen + out, chosen, (size_t)lanes);
}

/* Reduces the window at input `in` to output `out`, for some channels. */
SIMD_BODY void window_forward(bool half, int kernel, int lanes, const struct pass *p, int64_t in,
			      int64_t out)
{
	int64_t inner = p->pool->inner, row = p->pool->in_width * inner;
	float max[LANES];
	int32_t best[LANES] = {0};

	for (int l = 0; l < lanes; l++)
		max[l] = cpu_get(half, p->input, in + l);
	if (kernel == 2) {
		consider(half, lanes, p->input, in + inner, 1, max, best);
		consider(half, lanes, p->input, in + row, 2, max, best);
		consider(half, lanes, p->input, in + row + inner, 3, max, best);
	} else {
		for (int k = 1; k < kernel * kernel; k++)
			consider(half, lanes, p->input, in + k / kernel * row + k % kernel * inner,
				 k, max, best);
	}
	write_chosen(half, lanes, p, out, max, best);
}

/* The gradients of outputs, and which place of its window each has chosen. */
SIMD_BODY void read_gradient(bool half, int lanes, const struct pass *p, int64_t out,
			     float *gradient, int32_t *chosen)
{
	bool relu = p->pool->relu_backward;
	uint8_t bytes[LANES];

	memcpy(bytes, p->chosen + out, (size_t)lanes);
	for (int l = 0; l < lanes; l++)
		chosen[l] = bytes[l];
	for (int l = 0; l < lanes; l++)
		gradient[l] = cpu_get(half, p->output_gradient, out + l);
	for (int l = 0; relu && l < lanes; l++)
		gradient[l] = cpu_get(half, p->output, out + l) > 0.0f ? gradient[l] : 0.0f;
}

SIMD_BODY void window_backward(bool half, int kernel, int lanes, const struct pass *p, int64_t in,
			       int64_t out)
{
	int64_t inner = p->pool->inner, row = p->pool->in_width * inner;
	float gradient[LANES];
	int32_t chosen[LANES];

	read_gradient(half, lanes, p, out, gradient, chosen);
	for (int i = 0; i < kernel; i++)
		for (int j = 0; j < kernel; j++)
			for (int l = 0; l < lanes; l++)
				set(half, p->write, in + i * row + j * inner + l,
				    chosen[l] == i * kernel + j ? gradient[l] : 0.0f);
}

/* Requests the values below a window, because rows are too short for processors to foresee them. */
SIMD_BODY void request_below(bool half, int kernel, const struct pass *p, const void *values,
			     int64_t in)
{
	int64_t inner = p->pool->inner, row = p->pool->in_width * inner;

	for (int i = kernel; i < 2 * kernel; i++)
		for (int j = 0; j < kernel; j++)
			__builtin_prefetch((const char *)values +
					   (in + i * row + j * inner) * (half ? 2 : 4));
}

SIMD_BODY void window(bool backward, bool half, int kernel, int lanes, const struct pass *p,
		      int64_t in, int64_t out)
{
	if (lanes == LANES)
		request_below(half, kernel, p, backward ? p->write : p->input, in);
	if (backward)
		window_backward(half, kernel, lanes, p, in, out);
	else
		window_forward(half, kernel, lanes, p, in, out);
}

/* The windows at one place, for all channels. */
SIMD_BODY void place(bool backward, bool half, int kernel, const struct pass *p, int64_t in,
		     int64_t out)
{
	int64_t inner = p->pool->inner, c = 0;

	for (; c + LANES <= inner; c += LANES)
		window(backward, half, kernel, LANES, p, in + c, out + c);
	for (; c + LANES / 2 <= inner; c += LANES / 2)
		window(backward, half, kernel, LANES / 2, p, in + c, out + c);
	for (; c < inner; c++)
		window(backward, half, kernel, 1, p, in + c, out + c);
}

/* All windows of some planes, if they neither overlap nor leave the plane. */
SIMD_BODY void windows(bool backward, bool half, int kernel, const struct pass *p, int64_t first,
		       int64_t last)
{
	const struct cpu_pool *pool = p->pool;

	for (int64_t row = first * pool->out_height; row < last * pool->out_height; row++) {
		int64_t y =
			row / pool->out_height * pool->in_height + row % pool->out_height * kernel;

		for (int64_t x = 0; x < pool->out_width; x++)
			place(backward, half, kernel, p,
			      (y * pool->in_width + x * kernel) * pool->inner,
			      (row * pool->out_width + x) * pool->inner);
	}
}

/* Values outside of all windows have no gradient. */
static void clear_rest(const struct pass *p, int64_t first, int64_t last)
{
	const struct cpu_pool *pool = p->pool;
	size_t each = value_bytes(pool->type) * (size_t)pool->inner;
	size_t row = each * (size_t)pool->in_width,
	       width = (size_t)(pool->out_width * pool->kernel);

	for (int64_t y = first * pool->in_height; y < last * pool->in_height; y++) {
		unsigned char *at = (unsigned char *)p->write + (size_t)y * row;

		if (y % pool->in_height >= pool->out_height * pool->kernel)
			memset(at, 0, row);
		else
			memset(at + width * each, 0, row - width * each);
	}
}

/* --- windows that overlap or leave the plane ------------------------------------------------- */

struct range {
	int64_t first, last; /* not included */
};

/* The part of window `index` that is in a plane of this size, in places of the window. */
SIMD_BODY struct range inside(const struct cpu_pool *pool, int64_t index, int64_t size)
{
	int64_t begin = index * pool->stride - pool->pad, left = size - begin;

	return (struct range){begin < 0 ? -begin : 0, left < pool->kernel ? left : pool->kernel};
}

/* The windows of `count` that have the value at `at`. */
SIMD_BODY struct range covering(const struct cpu_pool *pool, int64_t at, int64_t count)
{
	int64_t begin = at + pool->pad - pool->kernel, last = (at + pool->pad) / pool->stride + 1;

	return (struct range){begin < 0 ? 0 : begin / pool->stride + 1,
			      last < count ? last : count};
}

/* Output y, x of a plane, for some channels from `channel` on. */
SIMD_BODY void reduce(bool half, int lanes, const struct pass *p, int64_t plane, int64_t y,
		      int64_t x, int64_t channel)
{
	const struct cpu_pool *pool = p->pool;
	struct range rows = inside(pool, y, pool->in_height),
		     columns = inside(pool, x, pool->in_width);
	int64_t row = plane * pool->in_height + y * pool->stride - pool->pad;
	int64_t column = x * pool->stride - pool->pad;
	int64_t out = ((plane * pool->out_height + y) * pool->out_width + x) * pool->inner;
	int first = (int)(rows.first * pool->kernel + columns.first);
	float max[LANES];
	int32_t best[LANES];

	for (int l = 0; l < lanes; l++) {
		max[l] = -INFINITY;
		best[l] = first;
	}
	for (int64_t i = rows.first; i < rows.last; i++)
		for (int64_t j = columns.first; j < columns.last; j++)
			consider(half, lanes, p->input,
				 ((row + i) * pool->in_width + column + j) * pool->inner + channel,
				 (int)(i * pool->kernel + j), max, best);
	write_chosen(half, lanes, p, out + channel, max, best);
}

/* Adds the gradients of outputs whose input is place k of their window. */
SIMD_BODY void gather(bool half, int lanes, const struct pass *p, int64_t out, int k, float *sum)
{
	float gradient[LANES];
	int32_t chosen[LANES];

	read_gradient(half, lanes, p, out, gradient, chosen);
	for (int l = 0; l < lanes; l++)
		sum[l] += chosen[l] == k ? gradient[l] : 0.0f;
}

/* The gradient of input y, x of a plane, for some channels from `channel` on. */
SIMD_BODY void spread(bool half, int lanes, const struct pass *p, int64_t plane, int64_t y,
		      int64_t x, int64_t channel)
{
	const struct cpu_pool *pool = p->pool;
	struct range rows = covering(pool, y, pool->out_height),
		     columns = covering(pool, x, pool->out_width);
	int64_t in = ((plane * pool->in_height + y) * pool->in_width + x) * pool->inner + channel;
	float sum[LANES] = {0};

	for (int64_t i = rows.first; i < rows.last; i++)
		for (int64_t j = columns.first; j < columns.last; j++) {
			int64_t out = ((plane * pool->out_height + i) * pool->out_width + j) *
					      pool->inner +
				      channel;
			int64_t k = (y + pool->pad - i * pool->stride) * pool->kernel + x +
				    pool->pad - j * pool->stride;

			gather(half, lanes, p, out, (int)k, sum);
		}
	for (int l = 0; l < lanes; l++)
		cpu_set(half, p->write, in + l, sum[l]);
}

SIMD_BODY void part(bool backward, bool half, int lanes, const struct pass *p, int64_t plane,
		    int64_t y, int64_t x, int64_t channel)
{
	if (backward)
		spread(half, lanes, p, plane, y, x, channel);
	else
		reduce(half, lanes, p, plane, y, x, channel);
}

SIMD_BODY void overlapping(bool backward, bool half, const struct pass *p, int64_t first,
			   int64_t last)
{
	const struct cpu_pool *pool = p->pool;
	int64_t height = backward ? pool->in_height : pool->out_height;
	int64_t width = backward ? pool->in_width : pool->out_width;

	for (int64_t row = first * height; row < last * height; row++)
		for (int64_t x = 0; x < width; x++) {
			int64_t plane = row / height, y = row % height, c = 0;

			for (; c + LANES <= pool->inner; c += LANES)
				part(backward, half, LANES, p, plane, y, x, c);
			for (; c + LANES / 2 <= pool->inner; c += LANES / 2)
				part(backward, half, LANES / 2, p, plane, y, x, c);
			for (; c < pool->inner; c++)
				part(backward, half, 1, p, plane, y, x, c);
		}
}

/* --- runs ------------------------------------------------------------------------------------ */

static bool are_apart(const struct cpu_pool *pool)
{
	return pool->stride == pool->kernel && pool->pad == 0;
}

/* With the type and the usual kernel as constants. */
SIMD_BODY void typed(bool backward, bool half, const struct pass *p, int64_t first, int64_t last)
{
	if (!are_apart(p->pool))
		overlapping(backward, half, p, first, last);
	else if (p->pool->kernel == 2)
		windows(backward, half, 2, p, first, last);
	else
		windows(backward, half, p->pool->kernel, p, first, last);
}

SIMD_BODY void run(bool backward, const struct pass *p, int64_t first, int64_t last)
{
	if (p->pool->type == VALUE_BFLOAT16)
		typed(backward, true, p, first, last);
	else
		typed(backward, false, p, first, last);
}

SIMD_BODY void forward_body(void *argument, int64_t first, int64_t last)
{
	run(false, argument, first, last);
}

SIMD_BODY void backward_body(void *argument, int64_t first, int64_t last)
{
	const struct pass *p = argument;

	if (are_apart(p->pool))
		clear_rest(p, first, last);
	run(true, p, first, last);
}

SIMD_EACH(forward, forward_body)
SIMD_EACH(backward, backward_body)

void cpu_pool_forward(const struct cpu_pool *pool, const struct cpu_team *team, const void *input,
		      void *output, uint8_t *chosen)
{
	struct pass pass = {.pool = pool, .input = input, .write = output, .chosen = chosen};

	cpu_team_run(team, pool->planes, forward[simd_loops()], &pass);
}

void cpu_pool_backward(const struct cpu_pool *pool, const struct cpu_team *team,
		       void *input_gradient, const void *output_gradient, const void *output,
		       const uint8_t *chosen)
{
	struct pass pass = {.pool = pool,
			    .output = output,
			    .output_gradient = output_gradient,
			    .write = input_gradient,
			    .chosen = (uint8_t *)(uintptr_t)chosen};

	cpu_team_run(team, pool->planes, backward[simd_loops()], &pass);
}
