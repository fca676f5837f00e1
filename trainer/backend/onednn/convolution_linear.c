/* SPDX-License-Identifier: MIT */
/*
 * Convolution and linear: planning. Weights have up to three layouts:
 *
 *   stored    floats in the model's buffer, as the weights' gradient comes out; if that has
 *             padding, in PyTorch's order; optimizer and sums never reorder
 *   forward   what forward wants: the stored ones themselves where it can, or a copy
 *   data      the same for the data's gradient, or forward's copy
 *
 * A copy that only rounds the stored weights is written by the optimizer.
 *
 * Algorithms are not left to oneDNN, whose choice is bad: direct, and Winograd's for 3x3 kernels
 * of many channels, where the device need not be exact (bench/README.md has the figures): in
 * float32 oneDNN's with AVX-512, the trainer's own with AVX2 (onednn/winograd.c); in bfloat16 the
 * trainer's own for two of the three passes where there is no AMX (onednn/winograd_bf16.c).
 *
 * Nor are references, which is oneDNN's name for plain loops: README.md has what replaces them.
 */
#include "backend/onednn/convolution_linear.h"

#include "backend/cpu/cpu.h"
#include "base.h"

/* Without a bias, from the second on. */
static const int forward_args[] = {DNNL_ARG_BIAS, DNNL_ARG_SRC,        DNNL_ARG_WEIGHTS,
				   DNNL_ARG_DST,  DNNL_ARG_SCRATCHPAD, 0};
static const int weights_args[] = {DNNL_ARG_DIFF_BIAS, DNNL_ARG_SRC,        DNNL_ARG_DIFF_WEIGHTS,
				   DNNL_ARG_DIFF_DST,  DNNL_ARG_SCRATCHPAD, 0};
static const int data_args[] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST,
				DNNL_ARG_SCRATCHPAD, 0};

/* The layouts that planning requests; all are freed at its end. */
struct wishes {
	onednn_layout *source, *weights, *weights_float, *bias, *target;
};

static void wishes_free(struct wishes *w)
{
	onednn_layout_free(w->source);
	onednn_layout_free(w->weights);
	onednn_layout_free(w->weights_float);
	onednn_layout_free(w->bias);
	onednn_layout_free(w->target);
}

static void wishes_make(struct wishes *w, struct sum_op *own, const struct op_shape *shape)
{
	const struct layout *in = &shape->input, *out = &own->base.info.output;
	dnnl_data_type_t type = onednn_type(in->type);
	bool linear = own->kind == ONEDNN_LINEAR;
	bool flat = linear && in->height * in->width == 1 && !in->order;
	int dims = flat ? 2 : 4, out_dims = linear ? 2 : 4;
	dnnl_dims_t target = {out->batch, out->channels, out->height, out->width};
	dnnl_dims_t weights = {shape->out, in->channels, linear ? in->height : shape->kernel,
			       linear ? in->width : shape->kernel};
	dnnl_dims_t bias = {shape->out};

	/* For data in host order the convolution chooses its layout, and the model converts.
	 * oneDNN's orders have 4 dimensions even if a plane is one value. */
	w->source =
		linear ? onednn_host_layout(in, dims) : onednn_layout_of(in, dnnl_format_tag_any);
	w->weights = onednn_layout_new(dims, weights, type, dnnl_format_tag_any);
	w->weights_float = onednn_layout_new(dims, weights, dnnl_f32, dnnl_format_tag_any);
	w->bias = onednn_layout_new(1, bias, dnnl_f32, dnnl_a);
	w->target = onednn_layout_new(out_dims, target, type, dnnl_format_tag_any);
	own->plain = onednn_layout_new(dims, weights, dnnl_f32, dims == 2 ? dnnl_ab : dnnl_abcd);
}

/* Whether the error is that there is no such implementation, so that something else may be tried.
 * Any other error is noted. */
static bool only_unimplemented(const struct train_error *why, struct train_error *error)
{
	return why->status == TRAIN_NO_BACKEND || train_fail(error, why->status, "%s", why->text);
}

/* Winograd's algorithm if it is wanted and available, else the direct one. */
static bool best_task(struct onednn_task *task, const struct sum_op *own, struct onednn_wish *wish,
		      const int *args, const char *what, struct train_error *error)
{
	struct train_error why = {.status = TRAIN_OK};

	if (own->winograd) {
		wish->algorithm = dnnl_convolution_winograd;
		if (onednn_task_make(task, own->base.device, wish, args, what, &why))
			return true;
		if (!only_unimplemented(&why, error))
			return false;
	}
	wish->algorithm = dnnl_convolution_direct;
	return onednn_task_make(task, own->base.device, wish, args, what, error);
}

/* The same for a pass with weights in the layout `first` if that can be; NULL: in any. */
static bool weighted_task(struct onednn_task *task, const struct sum_op *own,
			  struct onednn_wish *wish, const onednn_layout *first, const int *args,
			  const char *what, struct train_error *error)
{
	const onednn_layout *any = wish->weights;
	struct train_error why = {.status = TRAIN_OK};

	if (first) {
		wish->weights = first;
		wish->references = false;
		if (best_task(task, own, wish, args, what, &why))
			return true;
		if (!only_unimplemented(&why, error))
			return false;
	}
	wish->references = own->references;
	wish->weights = any;
	return best_task(task, own, wish, args, what, error);
}

/* Plans the weights' gradient, whose layout is how weights are stored. With padding it is computed
 * in scratch memory, and what counts of it is copied. */
static bool plan_weights(struct sum_op *own, struct onednn_wish wish, const struct wishes *w,
			 struct train_error *error)
{
	const int *args = weights_args + !wish.bias;
	static const char what[] = "weights' gradient of this type";
	size_t bytes = (size_t)own->base.info.weights * sizeof(float);
	struct onednn_task *task = &own->weights;
	const onednn_layout *padded;

	wish.pass = ONEDNN_BACKWARD_WEIGHTS;
	wish.weights = w->weights_float;
	if (!best_task(task, own, &wish, args, what, error))
		return false;
	own->stored = onednn_task_layout(task, DNNL_ARG_DIFF_WEIGHTS);
	if (dnnl_memory_desc_get_size(own->stored) == bytes)
		return true;
	onednn_task_free(task);
	own->stored = own->plain;
	if (!weighted_task(task, own, &wish, own->plain, args, what, error))
		return false;
	padded = onednn_task_layout(task, DNNL_ARG_DIFF_WEIGHTS);
	if (dnnl_memory_desc_equal(padded, own->plain))
		return true;
	if (!onednn_task_reorder(&own->unpad, own->base.device, padded, own->plain, error))
		return false;
	onednn_took(own->base.device, WAY_PADDED);
	return true;
}

/* Whether forward reads a copy that has the order of the stored weights. A convolution's never has:
 * in bfloat16 it reads pairs of channels. */
static bool only_rounds(const struct sum_op *own)
{
	return own->kind == ONEDNN_LINEAR && own->base.info.input.type == VALUE_BFLOAT16 &&
	       onednn_same_order(onednn_task_layout(&own->forward, DNNL_ARG_WEIGHTS), own->stored);
}

static bool plan_copies(struct sum_op *own, const struct op_shape *shape, struct train_error *error)
{
	const onednn_layout *forward = onednn_task_layout(&own->forward, DNNL_ARG_WEIGHTS), *data;

	if (own->kind == ONEDNN_CONVOLUTION &&
	    ((const struct onednn_device *)own->base.device)->half == HALF_PAIRS &&
	    onednn_wants_winograd(own->base.device, shape, VALUE_BFLOAT16) &&
	    sum_winograd_fits(own, shape))
		return sum_winograd(own, shape, error);
	if (!sum_plan_copy(&own->forward_copy, own, forward, error))
		return false;
	data = shape->no_backward_data ? forward : onednn_task_layout(&own->data, DNNL_ARG_WEIGHTS);
	own->shared = dnnl_memory_desc_equal(data, forward);
	if (!own->shared)
		return sum_plan_copy(&own->data_copy, own, data, error);
	if (only_rounds(own)) {
		own->base.info.weight_copy = (struct value_rows){.memory = own->forward_copy.memory,
								 .type = VALUE_BFLOAT16};
	}
	return true;
}

/* Plans all passes with the layouts of activations that `first` has. Gradients have the same. */
static bool plan_like(struct sum_op *own, const struct op_shape *shape, const struct wishes *w,
		      struct onednn_wish wish, const struct onednn_task *first,
		      struct train_error *error)
{
	const int *args = forward_args + shape->no_bias;
	struct onednn_wish backward;
	const onednn_layout *stored = NULL;
	bool made;

	wish.choice = 0;
	wish.source = onednn_task_layout(first, DNNL_ARG_SRC);
	wish.target = onednn_task_layout(first, DNNL_ARG_DST);
	backward = wish;
	backward.relu = false;
	backward.hint = first->description;
	made = plan_weights(own, backward, w, error);
	if (shape->input.type == VALUE_FLOAT32)
		stored = own->stored;
	made = made && weighted_task(&own->forward, own, &wish, stored, args,
				     "convolution or product", error);
	backward.pass = ONEDNN_BACKWARD_DATA;
	if (made && only_rounds(own))
		stored = onednn_task_layout(&own->forward, DNNL_ARG_WEIGHTS);
	if (made && !shape->no_backward_data)
		made = weighted_task(&own->data, own, &backward, stored, data_args,
				     "data's gradient", error);
	if (!made || !plan_copies(own, shape, error))
		return false;
	onednn_layout_out(&own->base.info.input, onednn_task_layout(&own->forward, DNNL_ARG_SRC));
	onednn_layout_out(&own->base.info.output, onednn_task_layout(&own->forward, DNNL_ARG_DST));
	return true;
}

/* Tries the layouts that forward's implementations ask for, in oneDNN's order, until all passes can
 * be planned with them. */
static bool plan_passes(struct sum_op *own, const struct op_shape *shape, const struct wishes *w,
			const onednn_layout *source, struct train_error *error)
{
	struct onednn_wish wish = {.kind = own->kind,
				   .source = source,
				   .weights = w->weights,
				   .bias = shape->no_bias ? NULL : w->bias,
				   .target = w->target,
				   .relu = shape->relu,
				   .references = own->references,
				   .strides = {shape->stride, shape->stride},
				   .pad = {shape->pad, shape->pad}};
	struct train_error reason = {.status = TRAIN_OK}; /* of the first layouts */

	own->winograd = own->kind == ONEDNN_CONVOLUTION &&
			onednn_wants_winograd(own->base.device, shape, VALUE_FLOAT32);
	for (;;) {
		struct train_error why = {.status = TRAIN_OK};
		struct onednn_task first;
		bool found = best_task(&first, own, &wish, NULL,
				       "convolution or product of this type", &why);

		if (found && plan_like(own, shape, w, wish, &first, &why)) {
			onednn_task_free(&first);
			return true;
		}
		if (!only_unimplemented(&why, error)) {
			onednn_task_free(&first);
			return false;
		}
		if (reason.status == TRAIN_OK)
			reason = why;
		if (!found)
			return train_fail(error, reason.status, "%s", reason.text);
		sum_tasks_free(own);
		wish.choice = own->winograd ? 0 : first.choice + 1;
		own->winograd = false;
		onednn_task_free(&first);
	}
}

static size_t max_scratch(const struct sum_op *own)
{
	const struct onednn_task *const tasks[] = {
		&own->forward,           &own->weights, &own->data, &own->forward_copy.reorder,
		&own->data_copy.reorder, &own->unpad,
	};
	size_t max = 0;

	for (size_t i = 0; i < sizeof(tasks) / sizeof(*tasks); i++)
		if (tasks[i]->scratch > max)
			max = tasks[i]->scratch;
	return max;
}

/* In the layout of the operation before, if that can be, and otherwise in another. */
static bool plan_layouts(struct sum_op *own, const struct op_shape *shape, const struct wishes *w,
			 struct train_error *error)
{
	const onednn_layout *before = shape->input.order;
	struct train_error why = {.status = TRAIN_OK};

	if (!before || own->references)
		return plan_passes(own, shape, w, before ? before : w->source, error);
	if (plan_passes(own, shape, w, before, &why))
		return true;
	if (!only_unimplemented(&why, error) || !plan_passes(own, shape, w, w->source, error))
		return false;
	onednn_took(own->base.device, WAY_MOVED);
	return true;
}

static bool sum_plan(struct sum_op *own, const struct op_shape *shape, struct train_error *error)
{
	const struct layout *in = &shape->input;
	CLEANUP(wishes_free) struct wishes wishes;
	bool linear = own->kind == ONEDNN_LINEAR;

	own->base.info.output = layout_host(in->type, in->batch, shape->out,
					    linear ? 1 : op_output_size(in->height, shape),
					    linear ? 1 : op_output_size(in->width, shape));
	own->base.info.weights =
		shape->out * in->channels *
		(linear ? in->height * in->width : (int64_t)shape->kernel * shape->kernel);
	own->base.info.biases = shape->no_bias ? 0 : shape->out;
	wishes_make(&wishes, own, shape);
	if (!plan_layouts(own, shape, &wishes, error))
		return false;
	if (max_scratch(own) > own->base.info.scratch)
		own->base.info.scratch = max_scratch(own);
	if (own->unpad.primitive)
		own->padded = onednn_room(
			&own->base.info.scratch,
			dnnl_memory_desc_get_size(onednn_task_layout(&own->unpad, DNNL_ARG_FROM)));
	if (!own->base.info.algorithm)
		own->base.info.algorithm = onednn_name(own->forward.description);
	return true;
}

static bool sum_new(struct op **op, struct device *device, const struct op_shape *shape,
		    enum onednn_kind kind, bool references, struct train_error *error)
{
	struct sum_op *own = op_new(sizeof(*own), device, &sum_calls, shape);

	own->kind = kind;
	own->references = references;
	return op_give(op, &own->base, sum_plan(own, shape, error));
}

/* The first form that there is: without references, in float32 between conversions (which may be
 * one with references), or at last with references. */
static bool sum_any(struct op **op, struct device *device, const struct op_shape *shape,
		    enum onednn_kind kind, struct train_error *error)
{
	op_make *make = kind == ONEDNN_LINEAR ? onednn_linear : onednn_convolution;
	struct train_error why = {.status = TRAIN_OK};

	if (sum_new(op, device, shape, kind, false, &why))
		return true;
	if (!only_unimplemented(&why, error))
		return false;
	why.status = TRAIN_OK;
	if (shape->input.type == VALUE_BFLOAT16) {
		onednn_took(device, WAY_WIDENED);
		if (onednn_widened(op, device, shape, make, &why))
			return true;
		if (!only_unimplemented(&why, error))
			return false;
	}
	onednn_took(device, WAY_REFERENCES);
	return sum_new(op, device, shape, kind, true, error);
}

bool onednn_convolution(struct op **op, struct device *device, const struct op_shape *shape,
			struct train_error *error)
{
	if (!onednn_type_here(device, shape->input.type, error))
		return false;
	if (onednn_wants_winograd(device, shape, VALUE_FLOAT32) && onednn_winograd_fits(shape))
		return onednn_winograd(op, device, shape, error);
	return sum_any(op, device, shape, ONEDNN_CONVOLUTION, error);
}

bool onednn_linear(struct op **op, struct device *device, const struct op_shape *shape,
		   struct train_error *error)
{
	return onednn_type_here(device, shape->input.type, error) &&
	       sum_any(op, device, shape, ONEDNN_LINEAR, error);
}
