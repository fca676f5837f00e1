/* SPDX-License-Identifier: MIT */
/* NHWC with padded channels: layouts, conversions, and weights in that order. */
#include "config.h"

#include <stdlib.h>

#include "backend/cuda/cuda.h"
#include "memory.h"

cudnnDataType_t cuda_cudnn_type(enum value_type type)
{
	return type == VALUE_BFLOAT16  ? CUDNN_DATA_BFLOAT16
	       : type == VALUE_FLOAT16 ? CUDNN_DATA_HALF
				       : CUDNN_DATA_FLOAT;
}

cudaDataType_t cuda_type(enum value_type type)
{
	return type == VALUE_BFLOAT16  ? CUDA_R_16BF
	       : type == VALUE_FLOAT16 ? CUDA_R_16F
				       : CUDA_R_32F;
}

/* 16 bytes: the unit of loads for tensor cores. */
int cuda_channel_multiple(enum value_type type)
{
	return (int)(LAUNCH_VECTOR_BYTES / value_bytes(type));
}

int cuda_padded(enum value_type type, int64_t channels)
{
	int64_t multiple = cuda_channel_multiple(type);

	return (int)((channels + multiple - 1) / multiple * multiple);
}

struct layout cuda_nhwc(const struct layout *shape, int64_t channels, int64_t height, int64_t width,
			struct cuda_order *order)
{
	struct layout layout = layout_host(shape->type, shape->batch, channels, height, width);

	order->padded = cuda_padded(shape->type, channels);
	layout.bytes =
		(size_t)(shape->batch * height * width * order->padded) * value_bytes(shape->type);
	layout.order = order;
	return layout;
}

bool cuda_is_nhwc(const struct layout *layout)
{
	return layout->order;
}

int cuda_channels(const struct layout *layout)
{
	const struct cuda_order *order = layout->order;

	return order ? order->padded : (int)layout->channels;
}

/* With one place per row, NHWC without padding is host order. */
static bool is_plain(const struct layout *layout)
{
	return !layout->order || (layout->height == 1 && layout->width == 1 &&
				  cuda_channels(layout) == layout->channels);
}

bool cuda_same_layout(const struct layout *a, const struct layout *b)
{
	return a->type == b->type && a->batch == b->batch && a->channels == b->channels &&
	       a->height == b->height && a->width == b->width &&
	       ((is_plain(a) && is_plain(b)) ||
		(a->order && b->order && cuda_channels(a) == cuda_channels(b)));
}

/* --- conversion ------------------------------------------------------------------------------ */

/* From the operation's input to its output; with `back` the other way. */
static bool reorder(struct op *op, const void *from, void *to, bool back, struct train_error *error)
{
	const struct layout *a = back ? &op->info.output : &op->info.input;
	const struct layout *b = back ? &op->info.input : &op->info.output;
	const struct layout *nhwc = is_plain(a) ? b : a;
	struct cuda_device *d = cuda_device_of(op);
	const struct reorder_args args = {
		.from = from,
		.to = to,
		.from_type = a->type,
		.to_type = b->type,
		.batch = a->batch,
		.channels = (int32_t)a->channels,
		.height = (int32_t)a->height,
		.width = (int32_t)a->width,
		.padded = cuda_channels(nhwc),
		.to_nhwc = is_plain(a),
	};

	if (is_plain(a) && is_plain(b))
		return cuda_cast(d, to, b->type, from, a->type, layout_values(a), error);
	return cuda_use(d, error) && CUDA_KERNEL(d, reorder, &args, error);
}

static bool convert_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	return reorder(op, args->input, args->output, false, error);
}

static bool convert_backward(struct op *op, const struct op_args *args, struct train_error *error)
{
	return reorder(op, args->output_gradient, args->input_gradient, true, error);
}

/* A layout whose padding is noted in the operation. */
static struct layout keep(const struct layout *layout, struct cuda_order *order)
{
	struct layout kept = *layout;

	if (layout->order) {
		*order = *(const struct cuda_order *)layout->order;
		kept.order = order;
	}
	return kept;
}

bool cuda_convert(struct op **ret, struct device *device, const struct layout *from,
		  const struct layout *to, struct train_error *error)
{
	static const struct op_calls calls = {.forward = convert_forward,
					      .backward_data = convert_backward};
	const struct op_shape shape = {.input = *from};
	struct cuda_op *op;

	if (!is_plain(from) && !is_plain(to))
		return train_fail(error, TRAIN_FAILED,
				  "no conversion between %d and %d padded channels",
				  cuda_channels(from), cuda_channels(to));
	op = op_new(sizeof(*op), device, &calls, &shape);
	op->base.info.input = keep(from, &op->input_order);
	op->base.info.output = keep(to, &op->output_order);
	op->base.info.algorithm = "reorder";
	*ret = &op->base;
	return true;
}

static int64_t elements(const struct cuda_filter *f)
{
	return (int64_t)f->out * f->in * f->height * f->width;
}

/* to_device: converts from PyTorch's order; else to it. */
static void permute(const struct cuda_filter *f, float *to, const float *from, bool to_device)
{
	int64_t places = (int64_t)f->height * f->width, at = 0;

	for (int o = 0; o < f->out; o++, at += f->in * places)
		for (int c = 0; c < f->in; c++)
			for (int64_t p = 0; p < places; p++) {
				int64_t host = at + c * places + p, device = at + p * f->in + c;

				to[to_device ? device : host] = from[to_device ? host : device];
			}
}

/* Memory for weights in an order of the device. */
static float *new_permuted(const struct op *op, size_t *bytes)
{
	*bytes = (size_t)elements(&((const struct cuda_op *)op)->host) * sizeof(float);
	return xmalloc(*bytes);
}

bool cuda_weight_write(struct op *op, void *to, const void *host, struct train_error *error)
{
	size_t bytes;
	CLEANUP_FREE float *permuted = new_permuted(op, &bytes);

	permute(&((struct cuda_op *)op)->host, permuted, host, true);
	return cuda_write(op->device, to, permuted, bytes, error) && cuda_finish(op->device, error);
}

bool cuda_weight_read(struct op *op, void *host, const void *from, struct train_error *error)
{
	size_t bytes;
	CLEANUP_FREE float *permuted = new_permuted(op, &bytes);

	if (!cuda_read(op->device, permuted, from, bytes, error))
		return false;
	permute(&((struct cuda_op *)op)->host, host, permuted, false);
	return true;
}

bool cuda_cast(struct cuda_device *d, void *to, enum value_type to_type, const void *from,
	       enum value_type from_type, int64_t count, struct train_error *error)
{
	const struct convert_args args = {from, to, count, from_type, to_type};

	return cuda_use(d, error) && CUDA_KERNEL(d, convert, &args, error);
}

bool cuda_bias_gradient(const struct op *op, const struct op_args *args, bool relu, float *sums,
			struct train_error *error)
{
	const struct layout *layout = &op->info.output;
	struct cuda_device *d = cuda_device_of(op);
	const struct bias_gradient_args bias = {
		.gradient = args->output_gradient,
		.output = relu ? args->output : NULL,
		.sums = sums,
		.scratch = d->scratch,
		.rows = layout->batch * layout->height * layout->width,
		.columns = cuda_channels(layout),
		.type = layout->type,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, bias_gradient, &bias, error);
}
