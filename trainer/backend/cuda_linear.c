/* SPDX-License-Identifier: MIT */
/*
 * Linear layers by cuBLASLt. Its matrices are in column order: a row-major (rows, columns) is its
 * (columns, rows). With x (batch, in), W (out, in) and y (batch, out) that makes
 *
 *	forward		y' (out, batch) = W' x'		W' transposed
 *	weights		dW' (in, out) = x' dy'		dy' transposed
 *	data		dx' (in, batch) = W' dy'
 *
 * Algorithms are those that its heuristics prefer, of those without sums in any order.
 */
#include "config.h"

#include <stdlib.h>

#include "backend/cuda.h"

enum { WORKSPACE_BYTES = 32 << 20 }; /* what NVIDIA advises for Hopper */

static const float one = 1, zero = 0;

enum { FORWARD, WEIGHTS, DATA, PRODUCTS };

/* d (m, n) = a b, with k between. */
struct product {
	cublasLtMatmulDesc_t how;
	cublasLtMatrixLayout_t a, b, d;
	cublasLtMatmulAlgo_t algorithm;
	size_t workspace_bytes;
	bool chosen;
};

struct linear {
	struct cuda_op base;
	bool relu_backward;
	struct cuda_filter host;
	struct product products[PRODUCTS];
	void *weight, *bias; /* copies in the type of activations; weight NULL: the masters are */
};

static struct linear *own(struct op *op)
{
	return (struct linear *)op;
}

/* --- products ----------------------------------------------------------------------------------
 */

/* One of its matrices: rows one after the other in memory. */
struct matrix {
	enum value_type type;
	int64_t rows, columns;
	bool transposed;
};

struct product_plan {
	struct matrix a, b, d;
	cublasLtEpilogue_t epilogue;
};

static bool set(struct cuda_device *d, cublasLtMatmulDesc_t how,
		cublasLtMatmulDescAttributes_t attribute, const void *value, size_t bytes,
		struct train_error *error)
{
	return CUDA_DO(d, CUBLASLT, cublasLtMatmulDescSetAttribute, (how, attribute, value, bytes),
		       error);
}

static bool describe(struct cuda_device *d, cublasLtMatrixLayout_t *layout, const struct matrix *m,
		     struct train_error *error)
{
	return CUDA_DO(
		d, CUBLASLT, cublasLtMatrixLayoutCreate,
		(layout, cuda_type(m->type), (uint64_t)m->rows, (uint64_t)m->columns, m->rows),
		error);
}

static bool set_operation(struct cuda_device *d, struct product *p,
			  cublasLtMatmulDescAttributes_t attribute, bool transposed,
			  struct train_error *error)
{
	cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;

	return set(d, p->how, attribute, &operation, sizeof(operation), error);
}

static bool plan_product(struct cuda_device *d, struct product *p, const struct product_plan *plan,
			 struct train_error *error)
{
	cublasComputeType_t compute = plan->a.type != VALUE_FLOAT32 || d->exact
					      ? CUBLAS_COMPUTE_32F
					      : CUBLAS_COMPUTE_32F_FAST_TF32;

	return CUDA_DO(d, CUBLASLT, cublasLtMatmulDescCreate, (&p->how, compute, CUDA_R_32F),
		       error) &&
	       set_operation(d, p, CUBLASLT_MATMUL_DESC_TRANSA, plan->a.transposed, error) &&
	       set_operation(d, p, CUBLASLT_MATMUL_DESC_TRANSB, plan->b.transposed, error) &&
	       set(d, p->how, CUBLASLT_MATMUL_DESC_EPILOGUE, &plan->epilogue,
		   sizeof(plan->epilogue), error) &&
	       describe(d, &p->a, &plan->a, error) && describe(d, &p->b, &plan->b, error) &&
	       describe(d, &p->d, &plan->d, error);
}

static void free_product(struct cuda_device *d, struct product *p)
{
	cublasLtMatrixLayout_t layouts[] = {p->a, p->b, p->d};

	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i])
			CUDA_END(d, CUBLASLT, cublasLtMatrixLayoutDestroy, (layouts[i]));
	if (p->how)
		CUDA_END(d, CUBLASLT, cublasLtMatmulDescDestroy, (p->how));
}

/* The greatest power of two, to 256, that an address is a multiple of. */
static uint32_t alignment_of(const void *address)
{
	uintptr_t bits = (uintptr_t)address | 256;

	return (uint32_t)(bits & -bits);
}

static bool prefer(struct cuda_device *d, cublasLtMatmulPreference_t preference,
		   cublasLtMatmulPreferenceAttributes_t attribute, const void *value, size_t bytes,
		   struct train_error *error)
{
	return CUDA_DO(d, CUBLASLT, cublasLtMatmulPreferenceSetAttribute,
		       (preference, attribute, value, bytes), error);
}

static bool set_preferences(struct cuda_device *d, cublasLtMatmulPreference_t preference,
			    const void *a, const void *b, const void *to, struct train_error *error)
{
	const uint64_t workspace = d->workspace_bytes;
	const uint32_t schemes =
		CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
	const uint32_t of_a = alignment_of(a), of_b = alignment_of(b), of_d = alignment_of(to);

	return prefer(d, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
		      sizeof(workspace), error) &&
	       prefer(d, preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes,
		      sizeof(schemes), error) &&
	       prefer(d, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &of_a,
		      sizeof(of_a), error) &&
	       prefer(d, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &of_b,
		      sizeof(of_b), error) &&
	       prefer(d, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &of_d,
		      sizeof(of_d), error) &&
	       prefer(d, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &of_d,
		      sizeof(of_d), error);
}

/* When addresses are known, whose alignment decides; they stay. A step is recorded after its first
 * run. */
static bool choose(struct cuda_device *d, struct product *p, const void *a, const void *b,
		   const void *to, struct train_error *error)
{
	cublasLtMatmulPreference_t preference;
	cublasLtMatmulHeuristicResult_t found;
	int count = 0;
	bool done;

	if (!CUDA_DO(d, CUBLASLT, cublasLtMatmulPreferenceCreate, (&preference), error))
		return false;
	done = set_preferences(d, preference, a, b, to, error) &&
	       CUDA_DO(d, CUBLASLT, cublasLtMatmulAlgoGetHeuristic,
		       (d->cublaslt, p->how, p->a, p->b, p->d, p->d, preference, 1, &found, &count),
		       error);
	if (done && count == 0)
		done = train_fail(error, TRAIN_FAILED, "%s: cuBLASLt has no way to this product",
				  d->where);
	CUDA_END(d, CUBLASLT, cublasLtMatmulPreferenceDestroy, (preference));
	if (!done)
		return false;
	p->algorithm = found.algo;
	p->workspace_bytes = found.workspaceSize;
	p->chosen = true;
	return true;
}

static bool multiply(struct linear *l, int product, const void *a, const void *b, void *to,
		     struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(&l->base.base);
	struct product *p = &l->products[product];

	if (!cuda_use(d, error) || (!p->chosen && !choose(d, p, a, b, to, error)))
		return false;
	return CUDA_DO(d, CUBLASLT, cublasLtMatmul,
		       (d->cublaslt, p->how, &one, a, p->a, b, p->b, &zero, to, p->d, to, p->d,
			&p->algorithm, d->workspace, p->workspace_bytes, d->stream),
		       error);
}

/* --- runs --------------------------------------------------------------------------------------
 */

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

static bool forward(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct linear *l = own(op);

	return multiply(l, FORWARD, weight_of(l, args), args->input, args->output, error);
}

static bool backward_weights(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct linear *l = own(op);

	return cuda_bias_gradient(op, args, l->relu_backward, args->bias_gradient, error) &&
	       multiply(l, WEIGHTS, args->input, args->output_gradient, args->weight_gradient,
			error);
}

static bool backward_data(struct op *op, const struct op_args *args, struct train_error *error)
{
	struct linear *l = own(op);

	return multiply(l, DATA, weight_of(l, args), args->output_gradient, args->input_gradient,
			error);
}

static bool weight_write(struct op *op, void *to, const void *host, struct train_error *error)
{
	return cuda_filter_write(cuda_device_of(op), &own(op)->host, to, host, error);
}

static bool weight_read(struct op *op, void *host, const void *from, struct train_error *error)
{
	return cuda_filter_read(cuda_device_of(op), &own(op)->host, host, from, error);
}

static void linear_free(struct op *op)
{
	struct linear *l = own(op);

	for (int i = 0; i < PRODUCTS; i++)
		free_product(cuda_device_of(op), &l->products[i]);
	cuda_release(op->device, l->weight);
	cuda_release(op->device, l->bias);
	free(l);
}

/* --- planning ----------------------------------------------------------------------------------
 */

/* What a convolution left is taken as it lies, if there is no padding in it. */
static void set_info(struct linear *l, const struct op_shape *shape)
{
	struct op_info *info = &l->base.base.info;
	const struct layout *in = &shape->input;
	int64_t values = in->channels * in->height * in->width;

	l->host = (struct cuda_filter){shape->out, (int)values, 1, 1};
	info->input = layout_host(in->type, in->batch, in->channels, in->height, in->width);
	if (cuda_is_nhwc(in) && cuda_channels(in) == in->channels) {
		info->input =
			cuda_nhwc(in, in->channels, in->height, in->width, &l->base.input_order);
		l->host = (struct cuda_filter){shape->out, (int)in->channels, (int)in->height,
					       (int)in->width};
	}
	info->output = layout_host(in->type, in->batch, shape->out, 1, 1);
	info->weights = shape->out * values;
	info->biases = shape->out;
	info->algorithm = "cuBLASLt";
	l->relu_backward = shape->relu_backward;
}

static bool plan_products(struct linear *l, const struct op_shape *shape, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(&l->base.base);
	const struct op_info *info = &l->base.base.info;
	enum value_type type = info->input.type;
	int64_t in = layout_values(&info->input) / info->input.batch, out = info->biases;
	const struct matrix w = {type, in, out, true}, x = {type, in, info->input.batch, false};
	const struct matrix y = {type, out, info->input.batch, false};
	const struct matrix y_transposed = {type, out, info->input.batch, true};
	const struct matrix w_plain = {type, in, out, false};
	const struct matrix w_gradient = {VALUE_FLOAT32, in, out, false};
	const struct product_plan plans[PRODUCTS] = {
		[FORWARD] = {w, x, y,
			     shape->relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS},
		[WEIGHTS] = {x, y_transposed, w_gradient, CUBLASLT_EPILOGUE_DEFAULT},
		[DATA] = {w_plain, y, x, CUBLASLT_EPILOGUE_DEFAULT},
	};

	for (int i = 0; i < PRODUCTS; i++)
		if (!plan_product(d, &l->products[i], &plans[i], error))
			return false;
	return set(d, l->products[FORWARD].how, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &l->bias,
		   sizeof(l->bias), error);
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
	       cuda_want_workspace(d, WORKSPACE_BYTES, error) &&
	       cuda_want_scratch(d, bias_gradient_scratch(info->output.batch, info->biases, type),
				 error);
}

bool cuda_linear(struct op **op, struct device *device, const struct op_shape *shape,
		 struct train_error *error)
{
	static const struct op_calls calls = {
		.prepare = prepare,
		.forward = forward,
		.backward_weights = backward_weights,
		.backward_data = backward_data,
		.weight_write = weight_write,
		.weight_read = weight_read,
		.free = linear_free,
	};
	struct linear *l = calloc(1, sizeof(*l));

	if (!l)
		return train_nomem(error, "a linear layer");
	l->base.base.calls = &calls;
	l->base.base.device = device;
	set_info(l, shape);
	if (!cuda_use((struct cuda_device *)device, error) || !allocate(l, error) ||
	    !plan_products(l, shape, error)) {
		linear_free(&l->base.base);
		return false;
	}
	l->base.base.info.weight_copy = l->weight;
	l->base.base.info.bias_copy = l->bias;
	l->base.base.info.copy_type = shape->input.type;
	*op = &l->base.base;
	return true;
}
