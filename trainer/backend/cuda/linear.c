/* SPDX-License-Identifier: MIT */
/*
 * Linear layers by cuBLASLt. Its matrices are in column order: a row-major (rows, columns) is its
 * (columns, rows). With x (batch, in), W (out, in) and y (batch, out) that makes
 *
 *	forward		y' (out, batch) = W' x'		W' transposed
 *	weights		dW' (in, out) = x' dy'		dy' transposed
 *	data		dx' (in, batch) = W' dy'
 */
#include "config.h"

#include "backend/cuda/product.h"

enum { FORWARD, WEIGHTS, DATA, PRODUCTS };

struct linear {
	struct cuda_op base;
	struct cuda_product products[PRODUCTS];
	/* copies in the type of activations; weight NULL: the master weights have this type */
	void *weight, *bias;
};

static struct linear *own(struct op *op)
{
	return (struct linear *)op;
}

/* --- runs ------------------------------------------------------------------------------------ */

static const void *weight_of(const struct linear *l, const struct op_args *args)
{
	return l->weight ? l->weight : args->weight;
}

static bool prepare(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct linear *l = own(op);
	struct cuda_device *d = cuda_device_of(op);
	enum value_type type = op->info.input.type;

	return (!l->weight || cuda_cast(d, l->weight, type, args->weight, VALUE_FLOAT32,
					op->info.weights, error)) &&
	       cuda_cast(d, l->bias, type, args->bias, VALUE_FLOAT32, op->info.biases, error);
}

static bool multiply(struct linear *l, int product, const void *a, const void *b, void *to,
		     float *sums, struct train_error *error)
{
	return cuda_product_run(cuda_device_of(&l->base.base), &l->products[product], a, b, to,
				sums, error);
}

static bool forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct linear *l = own(op);

	return multiply(l, FORWARD, weight_of(l, args), args->input, args->output, NULL, error);
}

static bool backward_weights(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct linear *l = own(op);

	/* ReLU's derivative comes before the product and before the kernel that sums. */
	return (!op->shape.relu_backward ||
		cuda_bias_gradient(op, args, true, args->bias_gradient, error)) &&
	       multiply(l, WEIGHTS, args->input, args->output_gradient, args->weight_gradient,
			op->shape.relu_backward ? NULL : args->bias_gradient, error);
}

static bool backward_data(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct linear *l = own(op);

	return multiply(l, DATA, weight_of(l, args), args->output_gradient, args->input_gradient,
			NULL, error);
}

static void linear_free(struct op *op)
{
	struct linear *l = own(op);

	for (int i = 0; i < PRODUCTS; i++)
		cuda_product_free(cuda_device_of(op), &l->products[i]);
	cuda_release(op->device, l->weight);
	cuda_release(op->device, l->bias);
}

/* --- planning -------------------------------------------------------------------------------- */

/* The output of a convolution is used in its layout if it has no padding. */
static void set_info(struct linear *l, const struct op_shape *shape)
{
	struct op_info *info = &l->base.base.info;
	const struct layout *in = &shape->input;
	int64_t values = in->channels * in->height * in->width;

	l->base.host = (struct cuda_filter){shape->out, (int)values, 1, 1};
	info->input = layout_host(in->type, in->batch, in->channels, in->height, in->width);
	if (cuda_is_nhwc(in) && cuda_channels(in) == in->channels) {
		info->input =
			cuda_nhwc(in, in->channels, in->height, in->width, &l->base.input_order);
		l->base.host = (struct cuda_filter){shape->out, (int)in->channels, (int)in->height,
						    (int)in->width};
	}
	info->output = layout_host(in->type, in->batch, shape->out, 1, 1);
	info->weights = shape->out * values;
	info->biases = shape->out;
	info->algorithm = "cuBLASLt";
}

/* Master weights that have the type are used without a copy. */
static bool plan_products(struct linear *l, const struct op_shape *shape, struct train_error *error)
{
	const struct op_info *info = &l->base.base.info;
	enum value_type type = info->input.type;
	int64_t batch = info->input.batch, out = info->biases;
	int64_t in = layout_values(&info->input) / batch;
	size_t copied = l->weight ? 0 : shape->weight_offset;
	const struct cuda_matrix w = {type, in, out, false, copied};
	const struct cuda_matrix w_transposed = {type, in, out, true, copied};
	const struct cuda_matrix w_gradient = {VALUE_FLOAT32, in, out, false, shape->weight_offset};
	const struct cuda_matrix x = {type, in, batch, false, 0}, y = {type, out, batch, false, 0};
	const struct cuda_matrix y_transposed = {type, out, batch, true, 0};
	const struct cuda_product_plan plans[PRODUCTS] = {
		{FORWARD, w_transposed, x, y,
		 shape->relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS, l->bias, false,
		 0},
		{WEIGHTS, x, y_transposed, w_gradient, CUBLASLT_EPILOGUE_DEFAULT, NULL,
		 !shape->relu_backward, shape->bias_offset},
		{DATA, w, y, x, CUBLASLT_EPILOGUE_DEFAULT, NULL, false, 0},
	};

	for (int i = 0; i < PRODUCTS; i++)
		if ((i != DATA || !shape->no_backward_data) &&
		    !cuda_product_plan(cuda_device_of(&l->base.base), &l->products[i], &plans[i],
				       error))
			return false;
	return true;
}

static bool allocate(struct linear *l, struct train_error *error)
{
	struct op *op = &l->base.base;
	struct cuda_device *d = cuda_device_of(op);
	const struct op_info *info = &op->info;
	enum value_type type = info->input.type;
	size_t each = value_bytes(type);

	l->bias = cuda_allocate(op->device, (size_t)info->biases * each, "a bias", error);
	if (l->bias && type != VALUE_FLOAT32)
		l->weight =
			cuda_allocate(op->device, (size_t)info->weights * each, "weights", error);
	return l->bias && (l->weight || type == VALUE_FLOAT32) &&
	       cuda_want_scratch(d, bias_gradient_scratch(info->output.batch, info->biases, type),
				 error);
}

static bool plan(struct linear *l, const struct op_shape *shape, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(&l->base.base);
	struct op_info *info = &l->base.base.info;

	set_info(l, shape);
	if (!cuda_use(d, error) || !cuda_want_cublaslt(d, error) || !allocate(l, error) ||
	    !plan_products(l, shape, error))
		return false;
	if (l->products[WEIGHTS].leaves_sums)
		info->algorithm = "cuBLASLt with the bias gradient";
	info->weight_copy = (struct value_rows){.memory = l->weight, .type = shape->input.type};
	info->bias_copy = (struct value_rows){.memory = l->bias, .type = shape->input.type};
	return true;
}

bool cuda_linear(struct op **op, struct device *device, const struct op_shape *shape,
		 struct train_error *error)
{
	static const struct op_calls calls = {
		.prepare = prepare,
		.forward = forward,
		.backward_weights = backward_weights,
		.backward_data = backward_data,
		.weight_write = cuda_weight_write,
		.weight_read = cuda_weight_read,
		.free = linear_free,
	};
	struct linear *l = op_new(sizeof(*l), device, &calls, shape);

	return op_give(op, &l->base.base, plan(l, shape, error));
}
