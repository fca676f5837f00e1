/* SPDX-License-Identifier: MIT */
/* kernels/batch_norm.h */
#include <math.h>

#include "tests/trainer/kernels/references.h"

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

static struct moments moments_of(const struct batch_norm_shape *shape, const void *input,
				 int64_t rows, int64_t column)
{
	struct moments m = {0, 0};

	for (int64_t row = 0; row < rows; row++)
		m.mean += value_at(shape, input, row, column) / (double)rows;
	for (int64_t row = 0; row < rows; row++) {
		double x = value_at(shape, input, row, column) - m.mean;

		m.variance += x * x / (double)rows;
	}
	return m;
}

static void move(float *running, double momentum, double to)
{
	*running = (float)((1 - momentum) * (double)*running + momentum * to);
}

/* Moves the running moments of a channel towards those of so many rows. */
static void move_running(float *mean, float *var, double momentum, const struct moments *m,
			 double rows)
{
	move(mean, momentum, m->mean);
	if (rows > 1)
		move(var, momentum, m->variance * rows / (rows - 1));
}

/* What normalizing a channel needs: its moments, and the weight and bias of BatchNorm. */
static void save_channel(float *saved, const struct batch_norm_shape *shape, int64_t c,
			 const struct moments *m, double eps, float weight, float bias)
{
	double inverse_std = 1 / sqrt(m->variance + eps), scale = inverse_std * (double)weight;
	double rest = m->mean - (double)(float)m->mean;

	*saved_at(saved, shape, BATCH_NORM_MEAN, c) = (float)m->mean;
	*saved_at(saved, shape, BATCH_NORM_MEAN_REST, c) = (float)rest;
	*saved_at(saved, shape, BATCH_NORM_INVERSE_STD, c) = (float)inverse_std;
	*saved_at(saved, shape, BATCH_NORM_SCALE, c) = (float)scale;
	*saved_at(saved, shape, BATCH_NORM_SHIFT, c) = (float)((double)bias - rest * scale);
}

static void save_padding(float *saved, const struct batch_norm_shape *shape)
{
	for (int64_t c = shape->channels; c < shape->columns; c++)
		for (int which = BATCH_NORM_MEAN; which <= BATCH_NORM_SHIFT; which++)
			*saved_at(saved, shape, (enum batch_norm_saved)which, c) = 0;
}

/* The values of a rank: the number of its rows, and two of each channel. */
static void give_rows(double *values, const struct batch_norm_shape *shape, int64_t rows)
{
	if (shape->channels > 0)
		values[0] = (double)rows;
}

static void give_values(double *values, const struct batch_norm_shape *shape, int64_t c,
			double first, double second)
{
	values[1 + c] = first;
	values[1 + shape->channels + c] = second;
}

void reference_batch_norm_statistics(const struct batch_norm_statistics_args *a)
{
	int64_t rows = a->training ? batch_norm_rows(&a->shape, a->control->rows) : 0;

	if (a->values)
		give_rows(a->values, &a->shape, rows);
	for (int64_t c = 0; c < a->shape.channels; c++) {
		struct moments m = moments_of(&a->shape, a->input, rows, c);

		if (a->values) {
			give_values(a->values, &a->shape, c, m.mean, m.variance);
			continue;
		}
		if (!a->training)
			m = (struct moments){(double)a->running_mean[c], (double)a->running_var[c]};
		else if (rows > 0)
			move_running(&a->running_mean[c], &a->running_var[c], a->momentum, &m,
				     (double)rows);
		save_channel(a->saved, &a->shape, c, &m, a->eps, a->weight[c], a->bias[c]);
	}
	if (!a->values)
		save_padding(a->saved, &a->shape);
}

/* The rows of all ranks. */
static double rows_of_ranks(const struct batch_norm_shape *shape, const double *all, int32_t ranks)
{
	double rows = 0;

	for (int32_t r = 0; r < ranks; r++)
		rows += all[r * batch_norm_rank_values(shape)];
	return rows;
}

static struct moments join_moments(const struct batch_norm_join_statistics_args *a, int64_t c,
				   double rows)
{
	int64_t values = batch_norm_rank_values(&a->shape), channels = a->shape.channels;
	struct moments m = {0, 0};

	if (rows == 0)
		return m;
	for (int32_t r = 0; r < a->ranks; r++)
		m.mean += a->all[r * values] * a->all[r * values + 1 + c];
	m.mean /= rows;
	for (int32_t r = 0; r < a->ranks; r++) {
		const double *rank = a->all + r * values;
		double x = rank[1 + c] - m.mean;

		m.variance += rank[0] * (rank[1 + channels + c] + x * x);
	}
	m.variance /= rows;
	return m;
}

void reference_batch_norm_join_statistics(const struct batch_norm_join_statistics_args *a)
{
	double rows = rows_of_ranks(&a->shape, a->all, a->ranks);

	for (int64_t c = 0; c < a->shape.channels; c++) {
		const struct moments m = join_moments(a, c, rows);

		if (rows > 0)
			move_running(&a->running_mean[c], &a->running_var[c], a->momentum, &m,
				     rows);
		save_channel(a->saved, &a->shape, c, &m, a->eps, a->weight[c], a->bias[c]);
	}
	save_padding(a->saved, &a->shape);
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
	int64_t rows = a->control ? batch_norm_rows(shape, a->control->rows) : shape->rows;

	for (int64_t row = 0; row < shape->rows; row++)
		for (int64_t c = 0; c < shape->columns; c++) {
			float x = centred(shape, a->saved, a->input, row, c);
			float y = output_of(shape, a->saved, x, c);

			value_set(shape->type, a->output, row * shape->columns + c,
				  row >= rows || (a->relu && y < 0) ? 0 : (double)y);
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

/* Sums over the rows of a column: of gradients, and of their products with the inputs' distances
 * from the mean. */
struct sums {
	double gradients, products;
};

static struct sums sums_of(const struct batch_norm_sums_args *a, int64_t c)
{
	const struct batch_norm_shape *shape = &a->shape;
	int64_t rows = batch_norm_rows(shape, a->control->rows);
	struct sums sums = {0, 0};

	for (int64_t row = 0; row < rows; row++) {
		float x = centred(shape, a->saved, a->input, row, c);
		float g = gradient_of(shape, a->saved, a->output_gradient, a->relu_backward, row, c,
				      x);

		sums.gradients += (double)g;
		sums.products += (double)g * (double)x;
	}
	sums.products -=
		(double)*saved_at(a->saved, shape, BATCH_NORM_MEAN_REST, c) * sums.gradients;
	return sums;
}

static void give_gradients(const struct batch_norm_sums_args *a, int64_t c, const struct sums *sums)
{
	double inverse_std = (double)*saved_at(a->saved, &a->shape, BATCH_NORM_INVERSE_STD, c);

	a->bias_gradient[c] = (float)sums->gradients;
	a->weight_gradient[c] = (float)(sums->products * inverse_std);
}

/* What the gradient of a column's inputs needs, of the sums over so many rows. */
static void save_sums(float *saved, const struct batch_norm_shape *shape, int64_t c,
		      const struct sums *sums, double rows)
{
	double rest = (double)*saved_at(saved, shape, BATCH_NORM_MEAN_REST, c);
	double inverse_std = (double)*saved_at(saved, shape, BATCH_NORM_INVERSE_STD, c);
	double share = rows > 0 ? 1 / rows : 0;
	double slope = sums->products * inverse_std * inverse_std * share;

	*saved_at(saved, shape, BATCH_NORM_MEAN_GRADIENT, c) =
		(float)(sums->gradients * share - rest * slope);
	*saved_at(saved, shape, BATCH_NORM_SLOPE, c) = (float)slope;
}

void reference_batch_norm_sums(const struct batch_norm_sums_args *a)
{
	int64_t rows = batch_norm_rows(&a->shape, a->control->rows);

	if (a->values)
		give_rows(a->values, &a->shape, rows);
	for (int64_t c = 0; c < a->shape.columns; c++) {
		const struct sums sums = sums_of(a, c);

		if (!a->values)
			save_sums(a->saved, &a->shape, c, &sums, (double)rows);
		if (c >= a->shape.channels)
			continue;
		give_gradients(a, c, &sums);
		if (a->values)
			give_values(a->values, &a->shape, c, sums.gradients, sums.products);
	}
}

void reference_batch_norm_join_sums(const struct batch_norm_join_sums_args *a)
{
	int64_t values = batch_norm_rank_values(&a->shape), channels = a->shape.channels;
	double rows = rows_of_ranks(&a->shape, a->all, a->ranks);

	for (int64_t c = 0; c < a->shape.columns; c++) {
		struct sums sums = {0, 0};

		for (int32_t r = 0; c < channels && r < a->ranks; r++) {
			sums.gradients += a->all[r * values + 1 + c];
			sums.products += a->all[r * values + 1 + channels + c];
		}
		save_sums(a->saved, &a->shape, c, &sums, rows);
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
