/* SPDX-License-Identifier: MIT */
/* Algorithms of convolutions: which ones cuDNN has, in its own order, and which one is chosen. */
#include "config.h"

#include <stdio.h>

#include "backend/cuda_convolution.h"

/* The fused forward call may need more workspace than cuDNN reports for its convolution. */
enum { ASKED = 16, MORE_WORKSPACE = 32 << 20 };

static const int known[CUDA_DIRECTIONS] = {
	[CUDA_FORWARD] = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
	[CUDA_DATA] = CUDNN_CONVOLUTION_BWD_DATA_ALGO_1,
	[CUDA_WEIGHTS] = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1,
};

/* cuDNN's result for one algorithm. Its three kinds differ only in the type of the number. */
struct found {
	cudnnStatus_t status;
	int number;
	cudnnDeterminism_t determinism;
	cudnnMathType_t math;
};

struct operation {
	struct cuda_convolution *c;
	enum cuda_direction direction;
};

/* --- what there is -----------------------------------------------------------------------------
 */

#define FOUND(perf) \
	(struct found) \
	{ \
		(perf).status, (int)(perf).algo, (perf).determinism, (perf).mathType \
	}

/* Each direction asks with its own descriptor, which has the arithmetic that is wanted. */
static bool get_forward(const struct cuda_convolution *c, struct found *found, int *count,
			struct train_error *error)
{
	cudnnConvolutionFwdAlgoPerf_t list[ASKED];
	struct cuda_device *d = cuda_device_of(&c->base.base);

	if (!CUDA_DO(d, CUDNN, cudnnGetConvolutionForwardAlgorithm_v7,
		     (d->cudnn, c->input, c->filter_shape, c->algorithms[CUDA_FORWARD].convolution,
		      c->output, ASKED, count, list),
		     error))
		return false;
	for (int i = 0; i < *count; i++)
		found[i] = FOUND(list[i]);
	return true;
}

static bool get_data(const struct cuda_convolution *c, struct found *found, int *count,
		     struct train_error *error)
{
	cudnnConvolutionBwdDataAlgoPerf_t list[ASKED];
	struct cuda_device *d = cuda_device_of(&c->base.base);

	if (!CUDA_DO(d, CUDNN, cudnnGetConvolutionBackwardDataAlgorithm_v7,
		     (d->cudnn, c->filter_shape, c->output, c->algorithms[CUDA_DATA].convolution,
		      c->input, ASKED, count, list),
		     error))
		return false;
	for (int i = 0; i < *count; i++)
		found[i] = FOUND(list[i]);
	return true;
}

static bool get_weights(const struct cuda_convolution *c, struct found *found, int *count,
			struct train_error *error)
{
	cudnnConvolutionBwdFilterAlgoPerf_t list[ASKED];
	struct cuda_device *d = cuda_device_of(&c->base.base);

	if (!CUDA_DO(d, CUDNN, cudnnGetConvolutionBackwardFilterAlgorithm_v7,
		     (d->cudnn, c->input, c->output, c->algorithms[CUDA_WEIGHTS].convolution,
		      c->filter_shape, ASKED, count, list),
		     error))
		return false;
	for (int i = 0; i < *count; i++)
		found[i] = FOUND(list[i]);
	return true;
}

/* The algorithm is not applicable; this is not a failure of the device. */
static bool is_lack(cudnnStatus_t status)
{
	int category = CUDNN_STATUS_CATEGORY((int)status);

	return category == CUDNN_STATUS_NOT_SUPPORTED || category == CUDNN_STATUS_BAD_PARAM ||
	       status == CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED ||
	       status == CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED;
}

static cudnnStatus_t ask_workspace(const struct operation *o, int number, size_t *bytes)
{
	const struct cuda_convolution *c = o->c;
	const struct cuda_algorithm *a = &c->algorithms[o->direction];
	const struct cuda_device *d = cuda_device_of(&c->base.base);

	if (o->direction == CUDA_FORWARD)
		return d->calls->cudnnGetConvolutionForwardWorkspaceSize(
			d->cudnn, c->input, c->filter_shape, a->convolution, c->output,
			(cudnnConvolutionFwdAlgo_t)number, bytes);
	if (o->direction == CUDA_DATA)
		return d->calls->cudnnGetConvolutionBackwardDataWorkspaceSize(
			d->cudnn, c->filter_shape, c->output, a->convolution, c->input,
			(cudnnConvolutionBwdDataAlgo_t)number, bytes);
	return d->calls->cudnnGetConvolutionBackwardFilterWorkspaceSize(
		d->cudnn, c->input, c->output, a->convolution, c->filter_shape,
		(cudnnConvolutionBwdFilterAlgo_t)number, bytes);
}

/* The workspace of an algorithm, and whether cuDNN supports it after all; if not, *why has the
 * reason. */
static bool workspace_of(const struct operation *o, int number, size_t *bytes, bool *has,
			 struct train_error *why, struct train_error *error)
{
	static const char *const calls[CUDA_DIRECTIONS] = {
		[CUDA_FORWARD] = "cudnnGetConvolutionForwardWorkspaceSize",
		[CUDA_DATA] = "cudnnGetConvolutionBackwardDataWorkspaceSize",
		[CUDA_WEIGHTS] = "cudnnGetConvolutionBackwardFilterWorkspaceSize",
	};
	const struct cuda_device *d = cuda_device_of(&o->c->base.base);
	cudnnStatus_t status = ask_workspace(o, number, bytes);

	*has = status == CUDNN_STATUS_SUCCESS;
	if (!is_lack(status))
		return cuda_done(d, CUDA_LIBRARY_CUDNN, (int)status, calls[o->direction], error);
	if (why->status == TRAIN_OK)
		cuda_done(d, CUDA_LIBRARY_CUDNN, (int)status, calls[o->direction], why);
	return true;
}

static bool set_math(const struct operation *o, cudnnMathType_t math, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(&o->c->base.base);

	return CUDA_DO(d, CUDNN, cudnnSetConvolutionMathType,
		       (o->c->algorithms[o->direction].convolution, math), error);
}

/* Whether the algorithm multiplies transformed values, which rounds far more than sums of products
 * do. */
static bool is_transformed(enum cuda_direction direction, int number)
{
	static const uint32_t transformed[CUDA_DIRECTIONS] = {
		[CUDA_FORWARD] = 1U << CUDNN_CONVOLUTION_FWD_ALGO_FFT |
				 1U << CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING |
				 1U << CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD |
				 1U << CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED,
		[CUDA_DATA] = 1U << CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT |
			      1U << CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING |
			      1U << CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD |
			      1U << CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED,
		[CUDA_WEIGHTS] = 1U << CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT |
				 1U << CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING |
				 1U << CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD |
				 1U << CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED,
	};

	return transformed[direction] >> number & 1;
}

/* Whether the algorithm computes the required values. A fused identity has one algorithm only. */
static bool is_wanted(const struct operation *o, const struct found *f)
{
	const struct cuda_device *d = cuda_device_of(&o->c->base.base);

	if (f->status != CUDNN_STATUS_SUCCESS || f->math == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION)
		return false;
	if (d->deterministic && f->determinism != CUDNN_DETERMINISTIC)
		return false;
	if (cuda_math(o->c) == CUDNN_FMA_MATH &&
	    (f->math == CUDNN_TENSOR_OP_MATH || is_transformed(o->direction, f->number)))
		return false;
	return o->direction != CUDA_FORWARD || o->c->relu || f->number == known[CUDA_FORWARD];
}

static bool add_way(struct cuda_ways *ways, const struct operation *o, const struct found *f,
		    struct train_error *error)
{
	bool exact = cuda_math(o->c) == CUDNN_FMA_MATH;
	cudnnMathType_t math = exact ? CUDNN_FMA_MATH : f->math;
	struct cuda_way way = {.words = {(uint64_t)f->number, (uint64_t)math}};
	bool has;

	if (!is_wanted(o, f) || ways->count == ASKED)
		return true;
	for (int i = 0; i < ways->count; i++)
		if (ways->list[i].words[0] == way.words[0] &&
		    ways->list[i].words[1] == way.words[1])
			return true;
	if (!set_math(o, math, error) ||
	    !workspace_of(o, f->number, &way.workspace, &has, &ways->why, error))
		return false;
	if (o->direction == CUDA_FORWARD)
		way.more_workspace = MORE_WORKSPACE;
	if (has)
		ways->list[ways->count++] = way;
	return true;
}

/* The last algorithm is always available. */
static bool list_ways(struct cuda_ways *ways, const struct operation *o, struct train_error *error)
{
	static bool (*const get[CUDA_DIRECTIONS])(const struct cuda_convolution *, struct found *,
						  int *, struct train_error *) = {
		[CUDA_FORWARD] = get_forward,
		[CUDA_DATA] = get_data,
		[CUDA_WEIGHTS] = get_weights,
	};
	const struct found last = {CUDNN_STATUS_SUCCESS, known[o->direction], CUDNN_DETERMINISTIC,
				   cuda_math(o->c)};
	struct found found[ASKED];
	int count = 0;

	if (!get[o->direction](o->c, found, &count, error))
		return false;
	for (int i = 0; i < count; i++)
		if (!add_way(ways, o, &found[i], error))
			return false;
	if (!add_way(ways, o, &last, error))
		return false;
	ways->known = ways->list[0];
	for (int i = 0; i < ways->count; i++)
		if (ways->list[i].words[0] == (uint64_t)last.number &&
		    ways->list[i].words[1] == (uint64_t)last.math)
			ways->known = ways->list[i];
	return true;
}

/* --- which is taken ----------------------------------------------------------------------------
 */

/* The addresses of a trial, each aligned to 256. */
static size_t place_operands(const struct cuda_convolution *c, size_t *input, size_t *output)
{
	const struct op_info *info = &c->base.base.info;

	*input = (cuda_filter_bytes(c) + 255) / 256 * 256;
	*output = *input + (info->input.bytes + 255) / 256 * 256;
	return *output + info->output.bytes;
}

static bool run(void *argument, const struct cuda_way *way, void *memory, void *workspace,
		struct train_error *error)
{
	const struct operation *o = argument;
	struct cuda_algorithm *a = &o->c->algorithms[o->direction];
	unsigned char *w = memory, *x, *y;
	struct cuda_operands operands;
	size_t input, output;

	place_operands(o->c, &input, &output);
	x = w + input;
	y = w + output;
	operands = (struct cuda_operands){x, w, y, NULL, workspace};
	operands.to = o->direction == CUDA_FORWARD ? y : o->direction == CUDA_DATA ? x : w;
	a->number = (int)way->words[0];
	a->workspace = way->workspace;
	return set_math(o, (cudnnMathType_t)way->words[1], error) &&
	       cuda_use(cuda_device_of(&o->c->base.base), error) &&
	       cuda_convolution_run(o->c, o->direction, &operands, error);
}

static struct cuda_ways new_ways(const struct cuda_convolution *c, enum cuda_direction direction)
{
	const struct op_info *info = &c->base.base.info;

	return (struct cuda_ways){
		.why = TRAIN_TOLERATED,
		.what = "cuDNN",
		.key = {(uint64_t)direction, (uint64_t)info->input.type,
			(uint64_t)cuda_device_of(&c->base.base)->exact << 1 | c->relu,
			(uint64_t)info->input.batch, (uint64_t)info->input.height,
			(uint64_t)info->input.width, (uint64_t)c->in_padded,
			(uint64_t)c->out_padded, (uint64_t)c->host.height, (uint64_t)c->pad,
			(uint64_t)c->stride},
	};
}

static bool choose(struct cuda_convolution *c, enum cuda_direction direction,
		   struct train_error *error)
{
	struct operation o = {c, direction};
	struct cuda_algorithm *a = &c->algorithms[direction];
	struct cuda_ways ways = new_ways(c, direction);
	struct cuda_way way;
	size_t input, output;

	ways.operands = place_operands(c, &input, &output);
	ways.run = run;
	ways.argument = &o;
	if (!list_ways(&ways, &o, error) ||
	    !cuda_choose(cuda_device_of(&c->base.base), &ways, &way, error))
		return false;
	a->number = (int)way.words[0];
	a->workspace = way.workspace;
	return set_math(&o, (cudnnMathType_t)way.words[1], error);
}

static void describe(struct cuda_convolution *c)
{
	static const char *const names[CUDA_DIRECTIONS][CUDNN_CONVOLUTION_FWD_ALGO_COUNT] = {
		[CUDA_FORWARD] = {"implicit product", "implicit precomputed product", "product",
				  "direct", "FFT", "tiled FFT", "Winograd", "unfused Winograd"},
		[CUDA_DATA] = {"0", "1", "FFT", "tiled FFT", "Winograd", "unfused Winograd"},
		[CUDA_WEIGHTS] = {"0", "1", "FFT", "3", "Winograd", "unfused Winograd",
				  "tiled FFT"},
	};
	int data = c->algorithms[CUDA_DATA].number, weights = c->algorithms[CUDA_WEIGHTS].number;

	snprintf(c->text, sizeof(c->text), "cuDNN: %s, weights %s%s%s",
		 names[CUDA_FORWARD][c->algorithms[CUDA_FORWARD].number],
		 names[CUDA_WEIGHTS][weights], c->no_backward_data ? "" : ", data ",
		 c->no_backward_data ? "" : names[CUDA_DATA][data]);
	c->base.base.info.algorithm = c->text;
}

bool cuda_convolution_choose(struct cuda_convolution *c, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(&c->base.base);

	for (int i = 0; i < CUDA_DIRECTIONS; i++)
		if ((i != CUDA_DATA || !c->no_backward_data) && !choose(c, i, error))
			return false;
	describe(c);
	for (int i = 0; i < CUDA_DIRECTIONS; i++)
		if (!cuda_want_workspace(d, c->algorithms[i].workspace, error))
			return false;
	return true;
}
