/* SPDX-License-Identifier: MIT */
#include "kernels/references.h"

static double input_of(const struct linear_loss_args *args, int64_t n, int64_t f)
{
	return value_get(args->type, args->input, n * args->features + f);
}

static double weight_of(const struct linear_loss_args *args, int32_t c, int64_t f)
{
	return value_get(args->type, args->weight, c * args->features + f);
}

static double gradient_of(const struct linear_loss_args *args, int64_t n, int32_t c)
{
	return value_get(args->type, args->gradient, n * args->classes + c);
}

static void write_logits(const struct linear_loss_args *args)
{
	for (int64_t n = 0; n < args->batch; n++)
		for (int32_t c = 0; c < args->classes; c++) {
			double sum = value_get(args->type, args->bias, c);

			for (int64_t f = 0; f < args->features; f++)
				sum += input_of(args, n, f) * weight_of(args, c, f);
			value_set(args->type, args->gradient, n * args->classes + c, sum);
		}
}

static void write_parameter_gradients(const struct linear_loss_args *args)
{
	for (int32_t c = 0; c < args->classes; c++) {
		double sum = 0;

		for (int64_t n = 0; n < args->batch; n++)
			sum += gradient_of(args, n, c);
		args->bias_gradient[c] = (float)sum;
		for (int64_t f = 0; f < args->features; f++) {
			sum = 0;
			for (int64_t n = 0; n < args->batch; n++)
				sum += gradient_of(args, n, c) * input_of(args, n, f);
			args->weight_gradient[c * args->features + f] = (float)sum;
		}
	}
}

static void write_input_gradients(const struct linear_loss_args *args)
{
	for (int64_t f = 0; f < args->features; f++) {
		double sums = 0;

		for (int64_t n = 0; n < args->batch; n++) {
			double sum = 0;

			for (int32_t c = 0; c < args->classes; c++)
				sum += gradient_of(args, n, c) * weight_of(args, c, f);
			if (args->relu && !(input_of(args, n, f) > 0))
				sum = 0;
			value_set(args->type, args->input_gradient, n * args->features + f, sum);
			sums += sum;
		}
		if (args->input_sums)
			args->input_sums[f] = (float)sums;
	}
}

void reference_linear_loss(const struct linear_loss_args *args)
{
	const struct cross_entropy_args loss = {
		.logits = args->gradient,
		.labels = args->labels,
		.control = args->control,
		.scaler = args->scaler,
		.result = args->result,
		.gradient = args->gradient,
		.batch = args->batch,
		.classes = args->classes,
		.pitch = args->classes,
		.overwrite = args->overwrite,
		.type = args->type,
	};

	write_logits(args);
	reference_cross_entropy(&loss);
	write_parameter_gradients(args);
	if (args->input_gradient)
		write_input_gradients(args);
}
