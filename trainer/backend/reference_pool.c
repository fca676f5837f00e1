/* SPDX-License-Identifier: MIT */
/* Max-pooling: the workspace holds for each output the index of the input that it is. */
#include <math.h>
#include <stdlib.h>

#include "backend/reference.h"

/* The index in the input of the first greatest value below output y, x of one plane. The last
 * NaN is greater than all, as in PyTorch. */
static int64_t greatest(const struct reference_op *r, const void *input, int64_t plane, int64_t y,
			int64_t x)
{
	const struct layout *in = &r->base.info.input;
	int64_t first = (plane * in->height + y * r->stride) * in->width + x * r->stride;
	int64_t best = first;
	double most = value_get(in->type, input, first);

	for (int64_t i = 0; i < r->kernel_h; i++)
		for (int64_t j = 0; j < r->kernel_w; j++) {
			double value = value_get(in->type, input, first + i * in->width + j);

			if (value > most || isnan(value)) {
				most = value;
				best = first + i * in->width + j;
			}
		}
	return best;
}

static bool pool_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct reference_op *r = (struct reference_op *)op;
	const struct layout *out = &op->info.output;
	int64_t *from = args->workspace, i = 0;

	(void)error;
	for (int64_t plane = 0; plane < out->batch * out->channels; plane++)
		for (int64_t y = 0; y < out->height; y++)
			for (int64_t x = 0; x < out->width; x++, i++) {
				int64_t best = greatest(r, args->input, plane, y, x);

				from[i] = best;
				value_set(out->type, args->output, i,
					  value_get(out->type, args->input, best));
			}
	return true;
}

static bool pool_backward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct reference_op *r = (struct reference_op *)op;
	const struct layout *in = &op->info.input;
	const int64_t *from = args->workspace;
	double *sums = args->scratch;
	int64_t count = layout_values(in);

	(void)error;
	reference_op_relu_backward(r, args);
	for (int64_t i = 0; i < count; i++)
		sums[i] = 0.0;
	for (int64_t i = 0; i < layout_values(&op->info.output); i++)
		sums[from[i]] += value_get(in->type, args->output_gradient, i);
	for (int64_t i = 0; i < count; i++)
		value_set(in->type, args->input_gradient, i, sums[i]);
	return true;
}

static void pool_free(struct op *op)
{
	free(op);
}

bool reference_op_max_pool(struct op **op, struct device *device, const struct op_shape *shape,
			   struct train_error *error)
{
	static const struct op_calls calls = {
		.forward = pool_forward, .backward_data = pool_backward, .free = pool_free};
	struct reference_op *r = reference_new(op, device, &shape->input, &calls, error);
	struct op_info *info;

	if (!r)
		return false;
	info = &r->base.info;
	r->kernel_h = r->kernel_w = shape->kernel;
	r->stride = shape->stride;
	r->relu_backward = shape->relu_backward;
	info->output = layout_host(info->input.type, info->input.batch, info->input.channels,
				   op_output_size(shape->input.height, shape),
				   op_output_size(shape->input.width, shape));
	info->workspace = (size_t)layout_values(&info->output) * sizeof(int64_t);
	info->scratch = (size_t)layout_values(&info->input) * sizeof(double);
	return true;
}
