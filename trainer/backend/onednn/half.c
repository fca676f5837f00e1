/* SPDX-License-Identifier: MIT */
/*
 * Convolutions and linear operations of bfloat16 values: which processors have them, and those that
 * compute in float32, between conversions of what they read and write.
 */
#include "backend/cpu/values.h"
#include "backend/onednn/convolution_linear.h"
#include "backend/onednn/planes.h"
#include "base.h"

#ifdef SIMD_X86
/* Whether oneDNN may use all instructions of `isa`: what the processor, the system and
 * ONEDNN_MAX_CPU_ISA allow. */
static bool onednn_may(dnnl_cpu_isa_t isa)
{
	return (dnnl_get_effective_cpu_isa() & isa) == isa;
}
#endif

enum onednn_half onednn_half_here(void)
{
#ifdef SIMD_X86
	if (simd_isa() >= SIMD_AMX && onednn_may(dnnl_cpu_isa_avx512_core_amx))
		return HALF_TILES;
	if (simd_isa() >= SIMD_BF16 && onednn_may(dnnl_cpu_isa_avx512_core_bf16) &&
	    __builtin_cpu_is("amd"))
		return HALF_PAIRS;
#endif
	return HALF_NONE;
}

bool onednn_type_here(struct device *device, enum value_type type, struct train_error *error)
{
	if (device->backend->has_type(device, type))
		return true;
	return train_fail(
		error, TRAIN_NO_BACKEND,
		"device %d: onednn has no fast %s on this processor; write --precision fp32",
		device->physical, value_name(type));
}

/* --- in float32 ------------------------------------------------------------------------------ */

struct widened_op {
	struct op base;
	struct op *wide;      /* the same in float32 */
	size_t input, output; /* where their values in float32 are in scratch */
	struct onednn_planes input_planes, output_planes; /* how the halves lie: as in `wide` */
};

struct conversion {
	const void *from;
	void *to;
};

/* Both types are constants where this is inlined. */
SIMD_BODY void convert(bool from_half, const struct conversion *c, int64_t first, int64_t last)
{
#pragma omp simd
	for (int64_t i = first; i < last; i++)
		cpu_set(!from_half, c->to, i, cpu_get(from_half, c->from, i));
}

SIMD_BODY void widen_body(void *argument, int64_t first, int64_t last)
{
	convert(true, argument, first, last);
}

SIMD_BODY void narrow_body(void *argument, int64_t first, int64_t last)
{
	convert(false, argument, first, last);
}

SIMD_EACH(widen, widen_body)
SIMD_EACH(narrow, narrow_body)

static void convert_all(const struct op *op, const struct layout *wide, bool from_half,
			const void *from, void *to)
{
	struct conversion conversion = {from, to};

	cpu_team_run_values(cpu_team_of(op->device), (int64_t)(wide->bytes / sizeof(float)),
			    (from_half ? widen : narrow)[simd_loops()], &conversion);
}

static void *at(const struct op_args *args, size_t offset)
{
	return (char *)args->scratch + offset;
}

static bool widened_prepare(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct op *wide = ((struct widened_op *)op)->wide;

	return !wide->calls->prepare || wide->calls->prepare(wide, args, error);
}

static bool widened_forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	const struct widened_op *own = (const struct widened_op *)op;
	const struct op_info *info = &own->wide->info;
	struct op_args wide = *args;

	wide.input = at(args, own->input);
	wide.output = at(args, own->output);
	convert_all(op, &info->input, true, args->input, at(args, own->input));
	if (!own->wide->calls->forward(own->wide, &wide, error))
		return false;
	convert_all(op, &info->output, false, wide.output, args->output);
	return true;
}

static bool widened_backward_weights(struct op *op, const struct op_args *args,
				     struct train_error *error)
{
	const struct widened_op *own = (const struct widened_op *)op;
	const struct op_info *info = &own->wide->info;
	struct op_args wide = *args;

	if (op->shape.relu_backward)
		onednn_relu_backward(op, args);
	wide.input = at(args, own->input);
	wide.output_gradient = at(args, own->output);
	convert_all(op, &info->input, true, args->input, at(args, own->input));
	convert_all(op, &info->output, true, args->output_gradient, wide.output_gradient);
	return own->wide->calls->backward_weights(own->wide, &wide, error);
}

static bool widened_backward_data(struct op *op, const struct op_args *args,
				  struct train_error *error)
{
	const struct widened_op *own = (const struct widened_op *)op;
	const struct op_info *info = &own->wide->info;
	struct op_args wide = *args;

	wide.output_gradient = at(args, own->output);
	wide.input_gradient = at(args, own->input);
	convert_all(op, &info->output, true, args->output_gradient, wide.output_gradient);
	if (!own->wide->calls->backward_data(own->wide, &wide, error))
		return false;
	convert_all(op, &info->input, false, wide.input_gradient, args->input_gradient);
	return true;
}

static bool widened_write(struct op *op, void *to, const void *host, struct train_error *error)
{
	struct op *wide = ((struct widened_op *)op)->wide;

	return wide->calls->weight_write(wide, to, host, error);
}

static bool widened_read(struct op *op, void *host, const void *from, struct train_error *error)
{
	struct op *wide = ((struct widened_op *)op)->wide;

	return wide->calls->weight_read(wide, host, from, error);
}

static void widened_free(struct op *op)
{
	struct widened_op *own = (struct widened_op *)op;

	op_free(own->wide);
	onednn_planes_free(&own->input_planes);
	onednn_planes_free(&own->output_planes);
}

/* The layout of halves that lie as the floats of *wide do. */
static bool narrowed(struct onednn_planes *planes, struct layout *half, const struct layout *wide,
		     struct train_error *error)
{
	struct layout floats = *wide;
	CLEANUP(onednn_planes_free) struct onednn_planes found;

	onednn_planes_find(&found, &floats);
	*half = layout_host(VALUE_BFLOAT16, wide->batch, wide->channels, wide->height, wide->width);
	if (!floats.order != !wide->order)
		return train_fail(error, TRAIN_NO_BACKEND, "oneDNN has a layout of its own");
	onednn_planes_like(planes, &found, half);
	return true;
}

static bool widened_plan(struct widened_op *own, const struct op_shape *shape, op_make *make,
			 struct train_error *error)
{
	struct op_info *info = &own->base.info;
	struct op_shape wide = *shape;
	CLEANUP(onednn_planes_free) struct onednn_planes before;
	struct layout input = shape->input;
	bool made;

	onednn_planes_find(&before, &input);
	wide.input =
		layout_host(VALUE_FLOAT32, input.batch, input.channels, input.height, input.width);
	wide.relu_backward = false;
	onednn_planes_like(&own->input_planes, &before, &wide.input);
	made = make(&own->wide, own->base.device, &wide, error);
	onednn_planes_free(&own->input_planes);
	if (!made)
		return false;
	*info = own->wide->info;
	own->input = onednn_room(&info->scratch, info->input.bytes);
	own->output = onednn_room(&info->scratch, info->output.bytes);
	return narrowed(&own->input_planes, &info->input, &own->wide->info.input, error) &&
	       narrowed(&own->output_planes, &info->output, &own->wide->info.output, error);
}

bool onednn_widened(struct op **op, struct device *device, const struct op_shape *shape,
		    op_make *make, struct train_error *error)
{
	static const struct op_calls calls = {.prepare = widened_prepare,
					      .forward = widened_forward,
					      .backward_weights = widened_backward_weights,
					      .backward_data = widened_backward_data,
					      .weight_write = widened_write,
					      .weight_read = widened_read,
					      .free = widened_free};
	struct widened_op *own = op_new(sizeof(*own), device, &calls, shape);

	return op_give(op, &own->base, widened_plan(own, shape, make, error));
}
