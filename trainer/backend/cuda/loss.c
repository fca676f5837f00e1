/* SPDX-License-Identifier: MIT */
/* The loss, by a kernel. */
#include "config.h"

#include "backend/cuda/cuda.h"

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
	const struct op_shape shape = {.input = *logits};
	size_t scratch = cross_entropy_scratch(logits->batch, (int32_t)logits->channels);
	struct op *made;

	if (!cuda_want_scratch((struct cuda_device *)device, scratch, error))
		return false;
	made = op_new(sizeof(*made), device, &calls, &shape);
	made->info.algorithm = "kernel";
	*op = made;
	return true;
}
