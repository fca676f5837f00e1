/* SPDX-License-Identifier: MIT */
/* Addition and the loss, by kernels. */
#include "config.h"

#include "backend/cuda.h"

/* --- addition ----------------------------------------------------------------------------------
 */

struct addition {
	struct op base;
	bool relu;
};

static bool addition_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct layout *layout = &op->info.output;
	const struct addition_args addition = {
		.a = args->input,
		.b = args->addend,
		.output = args->output,
		.count = (int64_t)(layout->bytes / value_bytes(layout->type)),
		.relu = ((struct addition *)op)->relu,
		.type = layout->type,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, addition, &addition, error);
}

static bool addition_backward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct layout *layout = &op->info.output;
	const struct relu_backward_args relu = {
		.gradient = args->output_gradient,
		.output = args->output,
		.count = (int64_t)(layout->bytes / value_bytes(layout->type)),
		.type = layout->type,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, relu_backward, &relu, error);
}

/* All values of a layout are added alike, its padding too. */
bool cuda_addition(struct op **op, struct device *device, const struct op_shape *shape,
		   struct train_error *error)
{
	static const struct op_calls plain = {.forward = addition_forward};
	static const struct op_calls relu = {.forward = addition_forward,
					     .backward_data = addition_backward};
	struct addition *own = op_new(sizeof(*own), device, shape->relu_backward ? &relu : &plain,
				      "an addition", error);

	if (!own)
		return false;
	own->base.info.input = own->base.info.output = shape->input;
	own->base.info.algorithm = "kernel";
	own->relu = shape->relu;
	*op = &own->base;
	return true;
}

/* --- the loss ----------------------------------------------------------------------------------
 */

static bool loss_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(op);
	const struct layout *logits = &op->info.input;
	const struct cross_entropy_args loss = {
		.logits = args->input,
		.labels = args->labels,
		.control = args->control,
		.scaler = args->scaler,
		.result = args->result,
		.gradient = args->input_gradient,
		.scratch = d->scratch,
		.batch = logits->batch,
		.classes = (int32_t)logits->channels,
		.pitch = (int32_t)logits->channels,
		.type = logits->type,
		.overwrite = args->overwrite,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, cross_entropy, &loss, error);
}

bool cuda_loss(struct op **op, struct device *device, const struct layout *logits,
	       struct train_error *error)
{
	static const struct op_calls calls = {.forward = loss_forward};
	size_t scratch = cross_entropy_scratch(logits->batch, (int32_t)logits->channels);
	struct op *made;

	if (!cuda_want_scratch((struct cuda_device *)device, scratch, error))
		return false;
	made = op_new(sizeof(*made), device, &calls, "the loss", error);
	if (!made)
		return false;
	made->info.input = *logits;
	made->info.algorithm = "kernel";
	*op = made;
	return true;
}
