/* SPDX-License-Identifier: MIT */
/* Max-pooling and global average pooling by their definitions. */
#include <math.h>

#include "backend/reference/reference.h"

/* --- max-pooling: the workspace holds for each output the index of the input that it is ------ */

/* The index in the input of the first greatest value below output y, x of one plane. The last
 * NaN is greater than all, as in PyTorch. */
static int64_t greatest(const struct op *op, const void *input, int64_t plane, int64_t y, int64_t x)
{
	const struct layout *in = &op->info.input;
	const struct op_shape *s = &op->shape;
	int64_t best = -1;
	double max = 0.0;

	for (int64_t i = y * s->stride - s->pad, row = 0; row < s->kernel; i++, row++)
		for (int64_t j = x * s->stride - s->pad, k = 0; k < s->kernel; j++, k++) {
			int64_t at = (plane * in->height + i) * in->width + j;
			double value;

			if (i < 0 || j < 0 || i >= in->height || j >= in->width)
				continue;
			value = value_get(in->type, input, at);
			if (best < 0 || value > max || isnan(value)) {
				max = value;
				best = at;
			}
		}
	return best;
}

static bool max_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	const struct layout *out = &op->info.output;
	int64_t *from = args->workspace, i = 0;

	for (int64_t plane = 0; plane < out->batch * out->channels; plane++)
		for (int64_t y = 0; y < out->height; y++)
			for (int64_t x = 0; x < out->width; x++, i++) {
				int64_t best = greatest(op, args->input, plane, y, x);

				from[i] = best;
				value_set(out->type, args->output, i,
					  value_get(out->type, args->input, best));
			}
	return true;
}

static bool max_backward(struct op *op, const struct op_args *args, struct train_error *error)
{
	const struct layout *in = &op->info.input;
	const int64_t *from = args->workspace;
	double *sums = args->scratch;
	int64_t count = layout_values(in);

	reference_op_relu_backward(op, args);
	for (int64_t i = 0; i < count; i++)
		sums[i] = 0.0;
	for (int64_t i = 0; i < layout_values(&op->info.output); i++)
		sums[from[i]] += value_get(in->type, args->output_gradient, i);
	for (int64_t i = 0; i < count; i++)
		value_set(in->type, args->input_gradient, i, sums[i]);
	return true;
}

bool reference_op_max_pool(struct op **op, struct device *device, const struct op_shape *shape,
			   struct train_error *error)
{
	static const struct op_calls calls = {.forward = max_forward,
					      .backward_data = max_backward};
	struct op_info *info = &reference_new(op, device, &calls, shape)->info;

	info->output = layout_host(info->input.type, info->input.batch, info->input.channels,
				   op_output_size(shape->input.height, shape),
				   op_output_size(shape->input.width, shape));
	info->workspace = (size_t)layout_values(&info->output) * sizeof(int64_t);
	info->scratch = (size_t)layout_values(&info->input) * sizeof(double);
	return true;
}

/* --- global average pooling ------------------------------------------------------------------ */

static bool mean_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	enum value_type type = op->info.input.type;
	int64_t places = places_of(op);

	for (int64_t i = 0; i < layout_values(&op->info.output); i++) {
		double sum = 0.0;

		for (int64_t k = 0; k < places; k++)
			sum += value_get(type, args->input, i * places + k);
		value_set(type, args->output, i, sum / (double)places);
	}
	return true;
}

static bool mean_backward(struct op *op, const struct op_args *args, struct train_error *error)
{
	enum value_type type = op->info.input.type;
	int64_t places = places_of(op);

	for (int64_t i = 0; i < layout_values(&op->info.input); i++)
		value_set(type, args->input_gradient, i,
			  value_get(type, args->output_gradient, i / places) / (double)places);
	return true;
}

bool reference_op_mean_pool(struct op **op, struct device *device, const struct op_shape *shape,
			    struct train_error *error)
{
	static const struct op_calls calls = {.forward = mean_forward,
					      .backward_data = mean_backward};
	struct op *made = reference_new(op, device, &calls, shape);

	made->info.output =
		layout_host(shape->input.type, shape->input.batch, shape->input.channels, 1, 1);
	return true;
}
