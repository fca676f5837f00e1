/* SPDX-License-Identifier: MIT */
#include "backend/cpu_pool.h"

#include <string.h>

#include "kernels/bf16.h"
#include "simd.h"

/* Channels at a time. The loops over them have a constant count, so that compilers vectorize them.
 * The kernel's size and the type are constants too where these functions are inlined. */
enum { LANES = 8 };

struct pass {
	const struct cpu_pool *pool;
	const void *input, *output, *output_gradient;
	void *write; /* output, or the input's gradient */
	uint8_t *chosen;
};

SIMD_BODY float get(bool half, const void *from, int64_t index)
{
	return half ? bf16_to_float(((const uint16_t *)from)[index]) : ((const float *)from)[index];
}

/* The value comes from get(), so nothing is rounded. */
SIMD_BODY void set(bool half, void *to, int64_t index, float value)
{
	if (half)
		((uint16_t *)to)[index] = (uint16_t)(float_bits(value) >> 16);
	else
		((float *)to)[index] = value;
}

SIMD_BODY void consider(float value, int k, float *max, uint8_t *best)
{
	bool more = (value > *max) | (value != value);

	*max = more ? value : *max;
	*best = more ? (uint8_t)k : *best;
}

/* Reduces the window at input `in` to output `out`, for some channels. As in PyTorch the first of
 * equal values counts, and a NaN is greater than all. Bytes may alias any object and so prevent
 * vectorizing; therefore they are kept in a local array. */
SIMD_BODY void window_forward(bool half, int kernel, int lanes, const struct pass *p, int64_t in,
			      int64_t out)
{
	int64_t inner = p->pool->inner, row = p->pool->in_width * inner;
	const void *input = p->input;
	float max[LANES];
	uint8_t best[LANES];

	for (int l = 0; l < lanes; l++) {
		max[l] = get(half, input, in + l);
		best[l] = 0;
		if (kernel == 2) {
			consider(get(half, input, in + l + inner), 1, &max[l], &best[l]);
			consider(get(half, input, in + l + row), 2, &max[l], &best[l]);
			consider(get(half, input, in + l + row + inner), 3, &max[l], &best[l]);
		} else {
			for (int k = 1; k < kernel * kernel; k++)
				consider(get(half, input,
					     in + l + k / kernel * row + k % kernel * inner),
					 k, &max[l], &best[l]);
		}
	}
	for (int l = 0; l < lanes; l++)
		set(half, p->write, out + l, max[l]);
	memcpy(p->chosen + out, best, (size_t)lanes);
}

SIMD_BODY void window_backward(bool half, int kernel, int lanes, const struct pass *p, int64_t in,
			       int64_t out)
{
	int64_t inner = p->pool->inner, row = p->pool->in_width * inner;
	bool relu = p->pool->relu_backward;
	void *write = p->write;
	float gradient[LANES];
	uint8_t chosen[LANES];

	memcpy(chosen, p->chosen + out, (size_t)lanes);
	for (int l = 0; l < lanes; l++)
		gradient[l] = get(half, p->output_gradient, out + l);
	for (int l = 0; relu && l < lanes; l++)
		gradient[l] = get(half, p->output, out + l) > 0.0f ? gradient[l] : 0.0f;
	for (int i = 0; i < kernel; i++)
		for (int j = 0; j < kernel; j++)
			for (int l = 0; l < lanes; l++)
				set(half, write, in + i * row + j * inner + l,
				    chosen[l] == i * kernel + j ? gradient[l] : 0.0f);
}

/* The windows at one place, for all channels. */
SIMD_BODY void place(bool backward, bool half, int kernel, const struct pass *p, int64_t in,
		     int64_t out)
{
	int64_t inner = p->pool->inner, c = 0;

	for (; c + LANES <= inner; c += LANES)
		if (backward)
			window_backward(half, kernel, LANES, p, in + c, out + c);
		else
			window_forward(half, kernel, LANES, p, in + c, out + c);
	for (; c < inner; c++)
		if (backward)
			window_backward(half, kernel, 1, p, in + c, out + c);
		else
			window_forward(half, kernel, 1, p, in + c, out + c);
}

/* All windows of some planes. */
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

SIMD_BODY void forward(void *argument, int64_t first, int64_t last)
{
	const struct pass *p = argument;

	if (p->pool->type == VALUE_BFLOAT16)
		windows(false, true, p->pool->kernel, p, first, last);
	else if (p->pool->kernel == 2)
		windows(false, false, 2, p, first, last);
	else
		windows(false, false, p->pool->kernel, p, first, last);
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

static void backward(void *argument, int64_t first, int64_t last)
{
	const struct pass *p = argument;

	clear_rest(p, first, last);
	if (p->pool->type == VALUE_BFLOAT16)
		windows(true, true, p->pool->kernel, p, first, last);
	else if (p->pool->kernel == 2)
		windows(true, false, 2, p, first, last);
	else
		windows(true, false, p->pool->kernel, p, first, last);
}

/* AVX2 makes forward a quarter faster. It makes backward slower, which compares bytes. */
static void forward_plain(void *argument, int64_t first, int64_t last)
{
	forward(argument, first, last);
}

SIMD_FMA static void forward_fma(void *argument, int64_t first, int64_t last)
{
	forward(argument, first, last);
}

void cpu_pool_forward(const struct cpu_pool *pool, const struct cpu_team *team, const void *input,
		      void *output, uint8_t *chosen)
{
	struct pass pass = {.pool = pool, .input = input, .write = output, .chosen = chosen};

	cpu_team_run(team, pool->planes, simd_has_fma() ? forward_fma : forward_plain, &pass);
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

	cpu_team_run(team, pool->planes, backward, &pass);
}
