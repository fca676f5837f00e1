/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "kernels/references.h"

static float *saved_at(float *saved, const struct batch_norm_shape *shape,
		       enum batch_norm_saved which, int64_t column)
{
	return &saved[which * shape->columns + column];
}

static double value_at(const struct batch_norm_shape *shape, const void *values, int64_t row,
		       int64_t column)
{
	return value_get(shape->type, values, row * shape->columns + column);
}

struct moments {
	double mean, variance;
};

static struct moments moments_of(const struct batch_norm_statistics_args *a, int64_t rows,
				 int64_t column)
{
	struct moments m = {0, 0};

	for (int64_t row = 0; row < rows; row++)
		m.mean += value_at(&a->shape, a->input, row, column) / (double)rows;
	for (int64_t row = 0; row < rows; row++) {
		double x = value_at(&a->shape, a->input, row, column) - m.mean;

		m.variance += x * x / (double)rows;
	}
	return m;
}

static void move(float *running, double momentum, double to)
{
	*running = (float)((1 - momentum) * (double)*running + momentum * to);
}

static struct moments statistics_of(const struct batch_norm_statistics_args *a, int64_t c)
{
	struct moments m = {0, 0};
	int64_t rows;

	if (!a->training)
		return (struct moments){(double)a->running_mean[c], (double)a->running_var[c]};
	rows = batch_norm_rows(&a->shape, a->control->rows);
	if (rows == 0)
		return m;
	m = moments_of(a, rows, c);
	move(&a->running_mean[c], a->momentum, m.mean);
	if (rows > 1)
		move(&a->running_var[c], a->momentum,
		     m.variance * (double)rows / (double)(rows - 1));
	return m;
}

void reference_batch_norm_statistics(const struct batch_norm_statistics_args *a)
{
	const struct batch_norm_shape *shape = &a->shape;

	for (int64_t c = 0; c < shape->columns; c++) {
		double inverse_std = 0, scale = 0, rest = 0;
		struct moments m = {0, 0};

		if (c < shape->channels) {
			m = statistics_of(a, c);
			inverse_std = 1 / sqrt(m.variance + a->eps);
			scale = inverse_std * (double)a->weight[c];
			rest = m.mean - (double)(float)m.mean;
		}
		*saved_at(a->saved, shape, BATCH_NORM_MEAN, c) = (float)m.mean;
		*saved_at(a->saved, shape, BATCH_NORM_MEAN_REST, c) = (float)rest;
		*saved_at(a->saved, shape, BATCH_NORM_INVERSE_STD, c) = (float)inverse_std;
		*saved_at(a->saved, shape, BATCH_NORM_SCALE, c) = (float)scale;
		*saved_at(a->saved, shape, BATCH_NORM_SHIFT, c) =
			c < shape->channels ? (float)((double)a->bias[c] - rest * scale) : 0;
	}
}

/* In float, as the kernels do, because a sign decides what passes ReLU. */
static float centred(const struct batch_norm_shape *shape, const float *saved, const void *input,
		     int64_t row, int64_t c)
{
	return (float)value_at(shape, input, row, c) - saved[BATCH_NORM_MEAN * shape->columns + c];
}

static float output_of(const struct batch_norm_shape *shape, const float *saved, float x, int64_t c)
{
	return fmaf(x, saved[BATCH_NORM_SCALE * shape->columns + c],
		    saved[BATCH_NORM_SHIFT * shape->columns + c]);
}

void reference_batch_norm_normalize(const struct batch_norm_normalize_args *a)
{
	const struct batch_norm_shape *shape = &a->shape;

	for (int64_t row = 0; row < shape->rows; row++)
		for (int64_t c = 0; c < shape->columns; c++) {
			float x = centred(shape, a->saved, a->input, row, c);
			float y = output_of(shape, a->saved, x, c);

			value_set(shape->type, a->output, row * shape->columns + c,
				  a->relu && y < 0 ? 0 : (double)y);
		}
}

static double rounded(enum value_type type, float value)
{
	float memory;

	value_set(type, &memory, 0, (double)value);
	return value_get(type, &memory, 0);
}

/* The gradient of a value before ReLU. */
static float gradient_of(const struct batch_norm_shape *shape, const float *saved,
			 const void *gradient, bool relu, int64_t row, int64_t c, float x)
{
	if (relu && !(rounded(shape->type, output_of(shape, saved, x, c)) > 0))
		return 0;
	return (float)value_at(shape, gradient, row, c);
}

void reference_batch_norm_sums(const struct batch_norm_sums_args *a)
{
	const struct batch_norm_shape *shape = &a->shape;
	int64_t rows = batch_norm_rows(shape, a->control->rows);

	for (int64_t c = 0; c < shape->columns; c++) {
		double rest = (double)*saved_at(a->saved, shape, BATCH_NORM_MEAN_REST, c);
		double inverse_std = (double)*saved_at(a->saved, shape, BATCH_NORM_INVERSE_STD, c);
		double sum = 0, products = 0, share = rows > 0 ? 1 / (double)rows : 0, slope;

		for (int64_t row = 0; row < rows; row++) {
			float x = centred(shape, a->saved, a->input, row, c);
			float g = gradient_of(shape, a->saved, a->output_gradient, a->relu_backward,
					      row, c, x);

			sum += (double)g;
			products += (double)g * (double)x;
		}
		products -= rest * sum;
		slope = products * inverse_std * inverse_std * share;
		*saved_at(a->saved, shape, BATCH_NORM_MEAN_GRADIENT, c) =
			(float)(sum * share - rest * slope);
		*saved_at(a->saved, shape, BATCH_NORM_SLOPE, c) = (float)slope;
		if (c >= shape->channels)
			continue;
		a->bias_gradient[c] = (float)sum;
		a->weight_gradient[c] = (float)(products * inverse_std);
	}
}

void reference_batch_norm_backward(const struct batch_norm_backward_args *a)
{
	const struct batch_norm_shape *shape = &a->shape;
	int64_t rows = batch_norm_rows(shape, a->control->rows);

	for (int64_t row = 0; row < shape->rows; row++)
		for (int64_t c = 0; c < shape->columns; c++) {
			const float *saved = a->saved + c;
			float x = centred(shape, a->saved, a->input, row, c);
			float g = gradient_of(shape, a->saved, a->output_gradient, a->relu_backward,
					      row, c, x);

			g -= saved[BATCH_NORM_MEAN_GRADIENT * shape->columns];
			g = fmaf(-x, saved[BATCH_NORM_SLOPE * shape->columns], g);
			g *= saved[BATCH_NORM_SCALE * shape->columns];
			value_set(shape->type, a->input_gradient, row * shape->columns + c,
				  row < rows ? (double)g : 0);
		}
}
