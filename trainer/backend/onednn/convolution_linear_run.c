/* SPDX-License-Identifier: MIT */
/* Convolution and linear: copies of weights, and running. */
#include "backend/cpu/cpu.h"
#include "backend/onednn/convolution_linear.h"

bool sum_plan_copy(struct weight_copy *copy, struct sum_op *own, const onednn_layout *wanted,
		   struct train_error *error)
{
	if (dnnl_memory_desc_equal(wanted, own->stored))
		return true;
	copy->memory = cpu_allocate(own->base.device, dnnl_memory_desc_get_size(wanted),
				    "weights as computed with", error);
	return copy->memory &&
	       onednn_task_reorder(&copy->reorder, own->base.device, own->stored, wanted, error);
}

bool sum_copy(struct weight_copy *copy, struct device *device, const struct op_args *args,
	      struct train_error *error)
{
	return !copy->memory || onednn_task_move(&copy->reorder, device, args->weight, copy->memory,
						 args->scratch, error);
}

static bool sum_prepare(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct sum_op *own = (struct sum_op *)op;

	return sum_copy(&own->forward_copy, op->device, args, error) &&
	       sum_copy(&own->data_copy, op->device, args, error);
}

static bool sum_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct sum_op *own = (struct sum_op *)op;
	const void *copy = own->forward_copy.memory;
	const struct onednn_address addresses[] = {
		{DNNL_ARG_SRC, args->input},
		{DNNL_ARG_WEIGHTS, copy ? copy : args->weight},
		{DNNL_ARG_BIAS, args->bias},
		{DNNL_ARG_DST, args->output},
		{DNNL_ARG_SCRATCHPAD, args->scratch},
	};

	return onednn_task_run(&own->forward, op->device, addresses, 5, error);
}

bool sum_backward_weights(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct sum_op *own = (struct sum_op *)op;
	const bool unpad = own->unpad.primitive != NULL;
	void *padded = (char *)args->scratch + own->padded;
	const struct onednn_address addresses[] = {
		{DNNL_ARG_SRC, args->input},
		{DNNL_ARG_DIFF_WEIGHTS, unpad ? padded : args->weight_gradient},
		{DNNL_ARG_DIFF_BIAS, args->bias_gradient},
		{DNNL_ARG_DIFF_DST, args->output_gradient},
		{DNNL_ARG_SCRATCHPAD, args->scratch},
	};

	if (op->shape.relu_backward)
		onednn_relu_backward(op, args);
	return onednn_task_run(&own->weights, op->device, addresses, 5, error) &&
	       (!unpad || onednn_task_move(&own->unpad, op->device, padded, args->weight_gradient,
					   args->scratch, error));
}

static bool sum_backward_data(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct sum_op *own = (struct sum_op *)op;
	const void *copy = own->shared ? own->forward_copy.memory : own->data_copy.memory;
	const struct onednn_address addresses[] = {
		{DNNL_ARG_DIFF_SRC, args->input_gradient},
		{DNNL_ARG_WEIGHTS, copy ? copy : args->weight},
		{DNNL_ARG_DIFF_DST, args->output_gradient},
		{DNNL_ARG_SCRATCHPAD, args->scratch},
	};

	return onednn_task_run(&own->data, op->device, addresses, 4, error);
}

/* Used once per checkpoint, so nothing is kept for it. */
static bool reorder_once(struct op *op, const onednn_layout *from, const void *from_at,
			 const onednn_layout *to, void *to_at, struct train_error *error)
{
	CLEANUP(onednn_task_free) struct onednn_task task;
	void *scratch;
	bool done;

	if (!onednn_task_reorder(&task, op->device, from, to, error))
		return false;
	scratch = cpu_allocate(op->device, task.scratch, "a reorder", error);
	done = scratch && onednn_task_move(&task, op->device, from_at, to_at, scratch, error);
	cpu_release(op->device, scratch);
	return done;
}

bool sum_weight_write(struct op *op, void *to, const void *host, struct train_error *error)
{
	struct sum_op *own = (struct sum_op *)op;

	return reorder_once(op, own->plain, host, own->stored, to, error);
}

bool sum_weight_read(struct op *op, void *host, const void *from, struct train_error *error)
{
	struct sum_op *own = (struct sum_op *)op;

	return reorder_once(op, own->stored, from, own->plain, host, error);
}

static void copy_free(struct weight_copy *copy, struct device *device)
{
	cpu_release(device, copy->memory);
	copy->memory = NULL;
	onednn_task_free(&copy->reorder);
}

void sum_tasks_free(struct sum_op *own)
{
	struct device *device = own->base.device;

	copy_free(&own->forward_copy, device);
	copy_free(&own->data_copy, device);
	for (int pass = 0; pass < 2; pass++) {
		cpu_release(device, own->transformed[pass]);
		own->transformed[pass] = NULL;
	}
	onednn_task_free(&own->unpad);
	onednn_task_free(&own->data);
	onednn_task_free(&own->weights);
	onednn_task_free(&own->forward);
	own->stored = NULL;
	own->shared = false;
}

void sum_free(struct op *op)
{
	struct sum_op *own = (struct sum_op *)op;

	sum_tasks_free(own);
	onednn_layout_free(own->plain);
}

const struct op_calls sum_calls = {.prepare = sum_prepare,
				   .forward = sum_forward,
				   .backward_weights = sum_backward_weights,
				   .backward_data = sum_backward_data,
				   .weight_write = sum_weight_write,
				   .weight_read = sum_weight_read,
				   .free = sum_free};
