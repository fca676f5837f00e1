/* SPDX-License-Identifier: MIT */
#include "backend/cpu/mean_pool.h"

#include "backend/cpu/values.h"

enum { LANES = 16 };

struct pass {
	const struct cpu_mean_pool *pool;
	const void *from;
	void *to;
};

/* Some channels of a plane, from `channel` of its group on. `at`: the first place. */
struct lanes {
	int64_t at, sample, channel;
	int count; /* without padding */
};

SIMD_BODY struct lanes lanes_of(const struct cpu_mean_pool *pool, int64_t plane, int64_t c,
				int lanes)
{
	int64_t channel = plane % pool->groups * pool->inner + c;
	int64_t left = pool->channels - channel;

	return (struct lanes){plane * pool->places * pool->inner + c, plane / pool->groups, channel,
			      (int)(left < lanes ? left < 0 ? 0 : left : lanes)};
}

SIMD_BODY void reduce(bool half, int lanes, const struct pass *p, int64_t plane, int64_t c)
{
	const struct cpu_mean_pool *pool = p->pool;
	struct lanes l = lanes_of(pool, plane, c, lanes);
	const void *from = p->from;
	double sum[LANES] = {0};

	for (int64_t i = 0; i < pool->places; i++)
#pragma omp simd
		for (int k = 0; k < lanes; k++)
			sum[k] += (double)cpu_get(half, from, l.at + i * pool->inner + k);
	for (int k = 0; k < l.count; k++)
		cpu_set(half, p->to, l.sample * pool->channels + l.channel + k,
			(float)(sum[k] / (double)pool->places));
}

SIMD_BODY void spread(bool half, int lanes, const struct pass *p, int64_t plane, int64_t c)
{
	const struct cpu_mean_pool *pool = p->pool;
	struct lanes l = lanes_of(pool, plane, c, lanes);
	void *to = p->to;
	float share[LANES] = {0};

	for (int k = 0; k < l.count; k++)
		share[k] = cpu_get(half, p->from, l.sample * pool->channels + l.channel + k) /
			   (float)pool->places;
	for (int64_t i = 0; i < pool->places; i++)
#pragma omp simd
		for (int k = 0; k < lanes; k++)
			cpu_set(half, to, l.at + i * pool->inner + k, share[k]);
}

SIMD_BODY void part(bool backward, bool half, int lanes, const struct pass *p, int64_t plane,
		    int64_t c)
{
	if (backward)
		spread(half, lanes, p, plane, c);
	else
		reduce(half, lanes, p, plane, c);
}

SIMD_BODY void planes(bool backward, bool half, const struct pass *p, int64_t first, int64_t last)
{
	for (int64_t plane = first; plane < last; plane++) {
		int64_t inner = p->pool->inner, c = 0;

		for (; c + LANES <= inner; c += LANES)
			part(backward, half, LANES, p, plane, c);
		for (; c + LANES / 2 <= inner; c += LANES / 2)
			part(backward, half, LANES / 2, p, plane, c);
		for (; c < inner; c++)
			part(backward, half, 1, p, plane, c);
	}
}

SIMD_BODY void run(bool backward, const struct pass *p, int64_t first, int64_t last)
{
	if (p->pool->type == VALUE_BFLOAT16)
		planes(backward, true, p, first, last);
	else
		planes(backward, false, p, first, last);
}

SIMD_BODY void forward_body(void *argument, int64_t first, int64_t last)
{
	run(false, argument, first, last);
}

SIMD_BODY void backward_body(void *argument, int64_t first, int64_t last)
{
	run(true, argument, first, last);
}

SIMD_EACH(forward, forward_body)
SIMD_EACH(backward, backward_body)

void cpu_mean_pool_forward(const struct cpu_mean_pool *pool, const struct cpu_team *team,
			   const void *input, void *output)
{
	struct pass pass = {pool, input, output};

	cpu_team_run(team, pool->samples * pool->groups, forward[simd_loops()], &pass);
}

void cpu_mean_pool_backward(const struct cpu_mean_pool *pool, const struct cpu_team *team,
			    void *input_gradient, const void *output_gradient)
{
	struct pass pass = {pool, output_gradient, input_gradient};

	cpu_team_run(team, pool->samples * pool->groups, backward[simd_loops()], &pass);
}
