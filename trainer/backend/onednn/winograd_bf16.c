/* SPDX-License-Identifier: MIT */
/* Convolutions in bfloat16: forward and the data's gradient by the trainer's own Winograd
 * algorithm. The weights' gradient is oneDNN's. */
#include "backend/cpu/winograd_bf16.h"
#include "backend/onednn/convolution_linear.h"
#include "base/simd.h"

#ifdef SIMD_X86
enum { FORWARD, DATA, CHANNELS = 16 };

static bool winograd_prepare(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct sum_op *own = (struct sum_op *)op;
	struct weight_copy *const copies[] = {&own->forward_copy, &own->data_copy};

	for (int pass = FORWARD; pass <= DATA; pass++) {
		const void *copy = copies[pass]->memory;

		if (!own->transformed[pass])
			continue;
		if (!sum_copy(copies[pass], op->device, args, error))
			return false;
		cpu_winograd_bf16_weights(&own->by_winograd[pass], cpu_team_of(op->device),
					  copy ? copy : args->weight, pass == DATA,
					  own->transformed[pass]);
	}
	return true;
}

static bool winograd_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct sum_op *own = (struct sum_op *)op;
	const struct cpu_winograd_run run = {args->input, own->transformed[FORWARD], args->bias,
					     args->output, args->scratch};

	cpu_winograd_bf16_run(&own->by_winograd[FORWARD], cpu_team_of(op->device), &run);
	return true;
}

static bool winograd_backward_data(struct op *op, const struct op_args *args,
				   struct train_error *error)
{
	struct sum_op *own = (struct sum_op *)op;
	const struct cpu_winograd_run run = {args->output_gradient, own->transformed[DATA], NULL,
					     args->input_gradient, args->scratch};

	cpu_winograd_bf16_run(&own->by_winograd[DATA], cpu_team_of(op->device), &run);
	return true;
}

static bool is_blocked(const struct layout *l, const onednn_layout *order)
{
	ONEDNN_LAYOUT *blocked = onednn_layout_of(l, dnnl_aBcd16b);

	return l->channels % CHANNELS == 0 && dnnl_memory_desc_equal(blocked, order);
}

bool sum_winograd_fits(const struct sum_op *own, const struct op_shape *shape)
{
	return cpu_winograd_bf16_here() && shape->pad < shape->kernel &&
	       is_blocked(&own->base.info.input, onednn_task_layout(&own->forward, DNNL_ARG_SRC)) &&
	       is_blocked(&own->base.info.output, onednn_task_layout(&own->forward, DNNL_ARG_DST));
}

/* The weights as (in, 3, 3, out) of a pass, and memory for them transformed. */
static bool plan_pass(struct sum_op *own, int pass, struct weight_copy *copy,
		      struct train_error *error)
{
	const struct cpu_winograd *w = &own->by_winograd[FORWARD];
	dnnl_dims_t sizes = {w->out, w->in, 3, 3};
	ONEDNN_LAYOUT *plain =
		onednn_layout_new(4, sizes, dnnl_f32, pass == DATA ? dnnl_acdb : dnnl_bcda);
	struct op_info *info = &own->base.info;
	size_t scratch;

	if (!sum_plan_copy(copy, own, plain, error))
		return false;
	w = &own->by_winograd[pass];
	scratch = cpu_winograd_bf16_scratch(w, cpu_team_of(own->base.device)->threads);
	if (scratch > info->scratch)
		info->scratch = scratch;
	own->transformed[pass] = cpu_allocate(own->base.device, cpu_winograd_bf16_transformed(w),
					      "weights as computed with", error);
	return own->transformed[pass];
}

bool sum_winograd(struct sum_op *own, const struct op_shape *shape, struct train_error *error)
{
	static const struct op_calls calls = {.prepare = winograd_prepare,
					      .forward = winograd_forward,
					      .backward_weights = sum_backward_weights,
					      .backward_data = winograd_backward_data,
					      .weight_write = sum_weight_write,
					      .weight_read = sum_weight_read,
					      .free = sum_free};
	struct cpu_winograd *w = own->by_winograd;

	w[FORWARD] = onednn_winograd_of(&own->base);
	w[DATA] = cpu_winograd_data(&w[FORWARD]);
	if (!plan_pass(own, FORWARD, &own->forward_copy, error) ||
	    (!shape->no_backward_data && !plan_pass(own, DATA, &own->data_copy, error)))
		return false;
	own->base.calls = &calls;
	own->base.info.algorithm = "winograd:avx512_bf16";
	return true;
}
#else
bool sum_winograd_fits(const struct sum_op *own, const struct op_shape *shape)
{
	return false;
}

bool sum_winograd(struct sum_op *own, const struct op_shape *shape, struct train_error *error)
{
	return train_fail(error, TRAIN_FAILED, "device %d: no Winograd's algorithm here",
			  own->base.device->physical);
}
#endif
