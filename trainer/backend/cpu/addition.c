/* SPDX-License-Identifier: MIT */
/* See addition.h. */
#include "backend/cpu/addition.h"

#include "base/simd.h"
#include "kernels/bf16.h"

struct pass {
	const struct cpu_addition *addition;
	const void *a, *b; /* backward: a is the output */
	void *to;          /* the output, or the gradient */
};

/* The types and `relu` are constants where these functions are inlined. */
SIMD_BODY void add_floats(bool relu, const struct pass *p, int64_t begin, int64_t end)
{
	const float *a = p->a, *b = p->b;
	float *to = p->to;

#pragma omp simd
	for (int64_t i = begin; i < end; i++) {
		float sum = a[i] + b[i];

		to[i] = relu && sum < 0.0f ? 0.0f : sum;
	}
}

SIMD_BODY void add_halves(bool relu, const struct pass *p, int64_t begin, int64_t end)
{
	const uint16_t *a = p->a, *b = p->b;
	uint16_t *to = p->to;

#pragma omp simd
	for (int64_t i = begin; i < end; i++) {
		float sum = bf16_to_float(a[i]) + bf16_to_float(b[i]);

		to[i] = bf16_from_float(relu && sum < 0.0f ? 0.0f : sum);
	}
}

SIMD_BODY void pass_floats(const struct pass *p, int64_t begin, int64_t end)
{
	const float *output = p->a;
	float *gradient = p->to;

#pragma omp simd
	for (int64_t i = begin; i < end; i++)
		gradient[i] = output[i] > 0.0f ? gradient[i] : 0.0f;
}

SIMD_BODY void pass_halves(const struct pass *p, int64_t begin, int64_t end)
{
	const uint16_t *output = p->a;
	uint16_t *gradient = p->to;

#pragma omp simd
	for (int64_t i = begin; i < end; i++)
		gradient[i] = bf16_to_float(output[i]) > 0.0f ? gradient[i] : 0;
}

SIMD_BODY void forward_body(void *argument, int64_t first, int64_t last)
{
	const struct pass *p = argument;
	bool half = p->addition->type == VALUE_BFLOAT16;

	if (half && p->addition->relu)
		add_halves(true, p, first, last);
	else if (half)
		add_halves(false, p, first, last);
	else if (p->addition->relu)
		add_floats(true, p, first, last);
	else
		add_floats(false, p, first, last);
}

SIMD_BODY void backward_body(void *argument, int64_t first, int64_t last)
{
	const struct pass *p = argument;

	if (p->addition->type == VALUE_BFLOAT16)
		pass_halves(p, first, last);
	else
		pass_floats(p, first, last);
}

SIMD_EACH(forward, forward_body)
SIMD_EACH(backward, backward_body)

static void run(const struct cpu_addition *addition, const struct cpu_team *team,
		void (*work)(void *argument, int64_t first, int64_t last), struct pass *pass)
{
	cpu_team_run_values(team, addition->count, work, pass);
}

void cpu_addition_forward(const struct cpu_addition *addition, const struct cpu_team *team,
			  const void *a, const void *b, void *output)
{
	struct pass pass = {addition, a, b, output};

	run(addition, team, forward[simd_loops()], &pass);
}

void cpu_addition_backward(const struct cpu_addition *addition, const struct cpu_team *team,
			   const void *output, void *gradient)
{
	struct pass pass = {addition, output, NULL, gradient};

	run(addition, team, backward[simd_loops()], &pass);
}
