/* SPDX-License-Identifier: MIT */
/* A run of a convolution by cuDNN: its arithmetic, its filter, and the call. */
#include "config.h"

#include <string.h>

#include "backend/cuda/convolution.h"

static const float one = 1, zero = 0;

size_t cuda_filter_bytes(const struct cuda_convolution *c, enum value_type type)
{
	return (size_t)c->out_padded * (size_t)c->base.host.height * (size_t)c->base.host.width *
	       (size_t)c->in_padded * value_bytes(type);
}

/* Half types always use tensor cores. float32 uses TF32, as PyTorch's convolutions do, unless it is
 * to be exact. */
cudnnMathType_t cuda_math(const struct cuda_convolution *c)
{
	if (c->base.base.info.input.type != VALUE_FLOAT32)
		return CUDNN_TENSOR_OP_MATH;
	return cuda_device_of(&c->base.base)->exact ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
}

/* --- an engine ------------------------------------------------------------------------------- */

static bool set_pack(struct cuda_device *d, const struct cuda_engine *e,
		     cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
		     int64_t count, const void *values, struct train_error *error)
{
	return CUDA_DO(d, CUDNN, cudnnBackendSetAttribute, (e->pack, name, type, count, values),
		       error);
}

static bool fill_pack(struct cuda_convolution *c, enum cuda_direction direction,
		      const struct cuda_engine *e, const struct cuda_operands *o,
		      struct train_error *error)
{
	const int64_t ids[] = {CUDA_X, CUDA_W, CUDA_Y, CUDA_BIAS};
	const int64_t count = direction == CUDA_FORWARD ? 4 : 3;
	const void *addresses[] = {
		direction == CUDA_DATA ? o->to : o->input,
		direction == CUDA_WEIGHTS ? o->to : o->filter,
		direction == CUDA_FORWARD ? o->to : o->output,
		c->bias,
	};
	struct cuda_device *d = cuda_device_of(&c->base.base);

	return set_pack(d, e, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids,
			error) &&
	       set_pack(d, e, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count,
			addresses, error) &&
	       set_pack(d, e, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
			&o->workspace, error) &&
	       CUDA_DO(d, CUDNN, cudnnBackendFinalize, (e->pack), error);
}

/* Addresses are known only when the operation runs, and a finalized pack cannot be changed. A model
 * always gives the same ones, so the pack of the first run is kept. */
static bool want_pack(struct cuda_convolution *c, enum cuda_direction direction,
		      struct cuda_engine *e, const struct cuda_operands *o,
		      struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(&c->base.base);

	if (e->pack && memcmp(&e->operands, o, sizeof(*o)) == 0)
		return true;
	if (e->pack)
		CUDA_END(d, CUDNN, cudnnBackendDestroyDescriptor, (e->pack));
	e->pack = NULL;
	if (!CUDA_DO(d, CUDNN, cudnnBackendCreateDescriptor,
		     (CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &e->pack), error))
		return false;
	if (fill_pack(c, direction, e, o, error)) {
		e->operands = *o;
		return true;
	}
	CUDA_END(d, CUDNN, cudnnBackendDestroyDescriptor, (e->pack));
	e->pack = NULL;
	return false;
}

/* --- a run ----------------------------------------------------------------------------------- */

bool cuda_convolution_run(struct cuda_convolution *c, enum cuda_direction direction,
			  const struct cuda_operands *o, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(&c->base.base);
	const struct cuda_algorithm *a = &c->algorithms[direction];

	if (a->engine)
		return want_pack(c, direction, a->engine, o, error) &&
		       CUDA_DO(d, CUDNN, cudnnBackendExecute,
			       (d->cudnn, a->engine->plan, a->engine->pack), error);
	if (direction == CUDA_FORWARD)
		return CUDA_DO(d, CUDNN, cudnnConvolutionBiasActivationForward,
			       (d->cudnn, &one, c->input, o->input, c->filter_shape, o->filter,
				a->convolution, (cudnnConvolutionFwdAlgo_t)a->number, o->workspace,
				a->workspace, &zero, c->output, o->to, c->bias_shape, c->bias,
				c->activation, c->output, o->to),
			       error);
	if (direction == CUDA_DATA)
		return CUDA_DO(d, CUDNN, cudnnConvolutionBackwardData,
			       (d->cudnn, &one, c->filter_shape, o->filter, c->output, o->output,
				a->convolution, (cudnnConvolutionBwdDataAlgo_t)a->number,
				o->workspace, a->workspace, &zero, c->input, o->to),
			       error);
	return CUDA_DO(d, CUDNN, cudnnConvolutionBackwardFilter,
		       (d->cudnn, &one, c->input, o->input, c->output, o->output, a->convolution,
			(cudnnConvolutionBwdFilterAlgo_t)a->number, o->workspace, a->workspace,
			&zero, c->filter_shape, o->to),
		       error);
}
