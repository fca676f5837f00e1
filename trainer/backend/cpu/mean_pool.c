/* SPDX-License-Identifier: MIT */
/* See mean_pool.h. */
#include "backend/cpu/mean_pool.h"

#include "backend/cpu/values.h"

struct pass {
	const struct cpu_mean_pool *pool;
	const void *from;
	void *to;
};

/* The place of a channel of a plane in the output; -1: padding. */
static int64_t output_of(const struct cpu_mean_pool *pool, int64_t plane, int64_t c)
{
	int64_t channel = plane % pool->groups * pool->inner + c;

	return channel < pool->channels ? plane / pool->groups * pool->channels + channel : -1;
}

static void forward(void *argument, int64_t first, int64_t last)
{
	const struct pass *p = argument;
	const struct cpu_mean_pool *pool = p->pool;
	bool half = pool->type == VALUE_BFLOAT16;

	for (int64_t i = first * pool->inner; i < last * pool->inner; i++) {
		int64_t plane = i / pool->inner, c = i % pool->inner;
		int64_t out = output_of(pool, plane, c),
			at = plane * pool->places * pool->inner + c;
		double sum = 0;

		for (int64_t k = 0; out >= 0 && k < pool->places; k++)
			sum += (double)cpu_get(half, p->from, at + k * pool->inner);
		if (out >= 0)
			cpu_set(half, p->to, out, (float)(sum / (double)pool->places));
	}
}

static void backward(void *argument, int64_t first, int64_t last)
{
	const struct pass *p = argument;
	const struct cpu_mean_pool *pool = p->pool;
	bool half = pool->type == VALUE_BFLOAT16;

	for (int64_t i = first * pool->inner; i < last * pool->inner; i++) {
		int64_t plane = i / pool->inner, c = i % pool->inner;
		int64_t out = output_of(pool, plane, c),
			at = plane * pool->places * pool->inner + c;
		float share = out < 0 ? 0 : cpu_get(half, p->from, out) / (float)pool->places;

		for (int64_t k = 0; k < pool->places; k++)
			cpu_set(half, p->to, at + k * pool->inner, share);
	}
}

void cpu_mean_pool_forward(const struct cpu_mean_pool *pool, const struct cpu_team *team,
			   const void *input, void *output)
{
	struct pass pass = {pool, input, output};

	cpu_team_run(team, pool->samples * pool->groups, forward, &pass);
}

void cpu_mean_pool_backward(const struct cpu_mean_pool *pool, const struct cpu_team *team,
			    void *input_gradient, const void *output_gradient)
{
	struct pass pass = {pool, output_gradient, input_gradient};

	cpu_team_run(team, pool->samples * pool->groups, backward, &pass);
}
