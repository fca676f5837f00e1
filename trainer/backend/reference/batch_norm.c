/* SPDX-License-Identifier: MIT */
/* Batch normalization by its definition. */
#include <math.h>

#include "backend/reference/reference.h"

/* What forward leaves in the workspace for each channel. */
struct channel {
	double mean, variance; /* of the rows that count, or the running ones */
	double count;          /* of their values, of all ranks */
};

static int64_t index_of(const struct op *op, int64_t n, int64_t channel, int64_t place)
{
	return (n * op->info.input.channels + channel) * places_of(op) + place;
}

/* for each place of each of the first `rows` rows */
#define EACH_VALUE(op, rows, n, place) \
	for (int64_t n = 0; n < (rows); n++) \
		for (int64_t place = 0; place < places_of(op); place++)

static double input_at(const struct op *op, const struct op_args *args, int64_t at)
{
	return value_get(op->info.input.type, args->input, at);
}

static double inverse_std(const struct op *op, const struct channel *s)
{
	return 1.0 / sqrt(s->variance + op->shape.eps);
}

/* The most values that are added up over ranks at a time. */
enum { SUMS = 2 };

static bool add_ranks(const struct op_args *args, double *values, int64_t count,
		      struct train_error *error)
{
	return !args->ranks || cpu_add_ranks(args->ranks, values, args->scratch, count, error);
}

static bool moments(const struct op *op, const struct op_args *args, int64_t c, struct channel *s,
		    struct train_error *error)
{
	double sums[SUMS] = {(double)(args->control->rows * places_of(op)), 0.0}, squares = 0.0;

	EACH_VALUE(op, args->control->rows, n, place)
	sums[1] += input_at(op, args, index_of(op, n, c, place));
	if (!add_ranks(args, sums, SUMS, error))
		return false;
	s->count = sums[0];
	if (s->count == 0.0)
		return true;
	s->mean = sums[1] / s->count;
	EACH_VALUE(op, args->control->rows, n, place)
	{
		double x = input_at(op, args, index_of(op, n, c, place)) - s->mean;

		squares += x * x;
	}
	if (!add_ranks(args, &squares, 1, error))
		return false;
	s->variance = squares / s->count;
	return true;
}

static void move(enum value_type type, void *running, int64_t c, double momentum, double to)
{
	double from = value_get(type, running, c);

	value_set(type, running, c, (1.0 - momentum) * from + momentum * to);
}

static void move_running(const struct op *op, const struct op_args *args, int64_t c,
			 const struct channel *s)
{
	enum value_type type = value_of_parameters(op->info.input.type);

	if (s->count > 0.0)
		move(type, args->running_mean, c, op->shape.momentum, s->mean);
	if (s->count > 1.0)
		move(type, args->running_var, c, op->shape.momentum,
		     s->variance * s->count / (s->count - 1.0));
}

static bool find_channel(const struct op *op, const struct op_args *args, int64_t c,
			 struct channel *s, struct train_error *error)
{
	enum value_type type = value_of_parameters(op->info.input.type);

	*s = (struct channel){.mean = 0.0};
	if (!args->training) {
		s->mean = value_get(type, args->running_mean, c);
		s->variance = value_get(type, args->running_var, c);
		return true;
	}
	if (!moments(op, args, c, s, error))
		return false;
	move_running(op, args, c, s);
	return true;
}

static bool forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	enum value_type type = op->info.input.type, parameters = value_of_parameters(type);
	struct channel *channels = args->workspace;

	for (int64_t c = 0; c < op->info.input.channels; c++) {
		double scale, shift = value_get(parameters, args->bias, c);

		if (!find_channel(op, args, c, &channels[c], error))
			return false;
		scale = inverse_std(op, &channels[c]) * value_get(parameters, args->weight, c);
		EACH_VALUE(op, op->info.input.batch, n, place)
		{
			int64_t at = index_of(op, n, c, place);
			double y = (input_at(op, args, at) - channels[c].mean) * scale + shift;

			if (args->training && n >= args->control->rows)
				y = 0.0;
			value_set(type, args->output, at, op->shape.relu && y < 0.0 ? 0.0 : y);
		}
	}
	return true;
}

/* Sums over a channel of the gradients, and of their products with the normalized inputs. */
static void sum_channel(const struct op *op, const struct op_args *args, int64_t c,
			double sums[SUMS])
{
	const struct channel *s = (const struct channel *)args->workspace + c;

	sums[0] = sums[1] = 0.0;
	EACH_VALUE(op, args->control->rows, n, place)
	{
		int64_t at = index_of(op, n, c, place);
		double gradient = value_get(op->info.input.type, args->output_gradient, at);

		sums[0] += gradient;
		sums[1] += gradient * (input_at(op, args, at) - s->mean) * inverse_std(op, s);
	}
}

static bool backward_weights(struct op *op, const struct op_args *args, struct train_error *error)
{
	enum value_type parameters = value_of_parameters(op->info.input.type);
	double sums[SUMS];

	reference_op_relu_backward(op, args);
	for (int64_t c = 0; c < op->info.input.channels; c++) {
		sum_channel(op, args, c, sums);
		value_set(parameters, args->bias_gradient, c, sums[0]);
		value_set(parameters, args->weight_gradient, c, sums[1]);
	}
	return true;
}

static bool input_gradients(const struct op *op, const struct op_args *args, int64_t c,
			    struct train_error *error)
{
	const struct channel *s = (const struct channel *)args->workspace + c;
	enum value_type type = op->info.input.type;
	double sums[SUMS];
	double scale = value_get(value_of_parameters(type), args->weight, c) * inverse_std(op, s);

	sum_channel(op, args, c, sums);
	if (!add_ranks(args, sums, SUMS, error))
		return false;
	EACH_VALUE(op, op->info.input.batch, n, place)
	{
		int64_t at = index_of(op, n, c, place);
		double x = (input_at(op, args, at) - s->mean) * inverse_std(op, s);
		double gradient = value_get(type, args->output_gradient, at);

		value_set(type, args->input_gradient, at,
			  n < args->control->rows
				  ? scale * (gradient - (sums[0] + x * sums[1]) / s->count)
				  : 0.0);
	}
	return true;
}

static bool backward_data(struct op *op, const struct op_args *args, struct train_error *error)
{
	for (int64_t c = 0; c < op->info.input.channels; c++)
		if (!input_gradients(op, args, c, error))
			return false;
	return true;
}

bool reference_op_batch_norm(struct op **op, struct device *device, const struct op_shape *shape,
			     struct train_error *error)
{
	static const struct op_calls calls = {.forward = forward,
					      .backward_weights = backward_weights,
					      .backward_data = backward_data};
	struct op *made = reference_new(op, device, &calls, shape);

	made->info.weights = made->info.biases = shape->input.channels;
	made->info.data_reads_input = true;
	made->info.workspace = (size_t)shape->input.channels * sizeof(struct channel);
	made->info.scratch = SUMS * (size_t)shape->ranks * sizeof(double);
	return true;
}
