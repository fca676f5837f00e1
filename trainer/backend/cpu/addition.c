/* SPDX-License-Identifier: MIT */
/* See addition.h. */
#include "backend/cpu/addition.h"

#include "backend/cpu/values.h"

struct pass {
	const struct cpu_addition *addition;
	const void *a, *b; /* backward: a is the output */
	void *to;          /* the output, or the gradient */
};

/* `half` and `relu` are constants where these functions are inlined. */
SIMD_BODY void add(bool half, bool relu, const struct pass *p, int64_t first, int64_t last)
{
	const void *a = p->a, *b = p->b;
	void *to = p->to;

#pragma omp simd
	for (int64_t i = first; i < last; i++) {
		float sum = cpu_get(half, a, i) + cpu_get(half, b, i);

		cpu_set(half, to, i, relu && sum < 0.0f ? 0.0f : sum);
	}
}

SIMD_BODY void pass_on(bool half, const struct pass *p, int64_t first, int64_t last)
{
	const void *output = p->a;
	void *gradient = p->to;

#pragma omp simd
	for (int64_t i = first; i < last; i++)
		cpu_set(half, gradient, i,
			cpu_get(half, output, i) > 0.0f ? cpu_get(half, gradient, i) : 0.0f);
}

SIMD_BODY void forward_body(void *argument, int64_t first, int64_t last)
{
	const struct pass *p = argument;
	bool half = p->addition->type == VALUE_BFLOAT16;

	if (half && p->addition->relu)
		add(true, true, p, first, last);
	else if (half)
		add(true, false, p, first, last);
	else if (p->addition->relu)
		add(false, true, p, first, last);
	else
		add(false, false, p, first, last);
}

SIMD_BODY void backward_body(void *argument, int64_t first, int64_t last)
{
	const struct pass *p = argument;

	if (p->addition->type == VALUE_BFLOAT16)
		pass_on(true, p, first, last);
	else
		pass_on(false, p, first, last);
}

SIMD_EACH(forward, forward_body)
SIMD_EACH(backward, backward_body)

void cpu_addition_forward(const struct cpu_addition *addition, const struct cpu_team *team,
			  const void *a, const void *b, void *output)
{
	struct pass pass = {addition, a, b, output};

	cpu_team_run_values(team, addition->count, forward[simd_loops()], &pass);
}

void cpu_addition_backward(const struct cpu_addition *addition, const struct cpu_team *team,
			   const void *output, void *gradient)
{
	struct pass pass = {addition, output, NULL, gradient};

	cpu_team_run_values(team, addition->count, backward[simd_loops()], &pass);
}
