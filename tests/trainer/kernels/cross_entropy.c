/* SPDX-License-Identifier: MIT */
/* kernels/cross_entropy.h */
#include <math.h>
#include <stdbool.h>

#include "tests/trainer/kernels/references.h"

/* Computed before the gradient is written, which may replace the logits. */
struct softmax {
	double greatest, sum;
	int32_t best; /* of equal values the first */
};

static struct softmax softmax_of(const struct cross_entropy_args *args, int64_t first)
{
	struct softmax s = {value_get(args->type, args->logits, first), 0, 0};

	for (int32_t c = 1; c < args->classes; c++) {
		double x = value_get(args->type, args->logits, first + c);

		if (x > s.greatest) {
			s.greatest = x;
			s.best = c;
		}
	}
	for (int32_t c = 0; c < args->classes; c++)
		s.sum += exp(value_get(args->type, args->logits, first + c) - s.greatest);
	return s;
}

static void write_gradient(const struct cross_entropy_args *args, int64_t first, int32_t label,
			   const struct softmax *s)
{
	double scale =
		(double)args->control->scale * (args->scaler ? (double)args->scaler->scale : 1);

	for (int32_t c = 0; c < args->classes; c++) {
		double x = value_get(args->type, args->logits, first + c);
		double share = exp(x - s->greatest) / s->sum;

		value_set(args->type, args->gradient, first + c, (share - (c == label)) * scale);
	}
}

static void write_zeros(const struct cross_entropy_args *args, int64_t first, int32_t from)
{
	for (int32_t c = from; c < args->pitch; c++)
		value_set(args->type, args->gradient, first + c, 0);
}

static void count_row(const struct cross_entropy_args *args, int64_t first, int32_t label)
{
	struct softmax s = softmax_of(args, first);
	double loss = log(s.sum) + s.greatest - value_get(args->type, args->logits, first + label);

	args->result->loss += loss;
	args->result->correct += s.best == label && !isnan(loss);
	if (args->gradient)
		write_gradient(args, first, label, &s);
}

void reference_cross_entropy(const struct cross_entropy_args *args)
{
	if (args->overwrite)
		*args->result = (struct loss_result){0, 0};
	for (int64_t n = 0; n < args->batch; n++) {
		int64_t first = n * args->pitch;
		int32_t label = n < args->control->rows ? args->labels[n] : -1;
		bool counts = label >= 0 && label < args->classes;

		if (counts)
			count_row(args, first, label);
		if (args->gradient)
			write_zeros(args, first, counts ? args->classes : 0);
	}
}
