/* SPDX-License-Identifier: MIT */
/* The sum of two activations by the threads of a simulated device. */
#ifndef TRAIN_BACKEND_CPU_ADDITION_H
#define TRAIN_BACKEND_CPU_ADDITION_H

#include "backend/cpu/team.h"
#include "kernels/value.h"

struct cpu_addition {
	enum value_type type; /* float32 or bfloat16 */
	int64_t count;        /* of values */
	bool relu;            /* of the sum */
};

/* output[i] = a[i] + b[i], or 0 where that is below 0 with relu; output may be a or b. */
void cpu_addition_forward(const struct cpu_addition *addition, const struct cpu_team *team,
			  const void *a, const void *b, void *output);
/* gradient[i] = 0 unless output[i] is above 0. */
void cpu_addition_backward(const struct cpu_addition *addition, const struct cpu_team *team,
			   const void *output, void *gradient);

#endif
