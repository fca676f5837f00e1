/* SPDX-License-Identifier: MIT */
/* Algorithms of convolutions: which ones cuDNN has, in its own order, and which one is chosen. They
 * are those of its calls for convolutions, and engines of its graph API. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "backend/cuda/convolution.h"

/* The fused forward call may need more workspace than cuDNN reports for its convolution. */
enum { ASKED = 16, MORE_WORKSPACE = 32 << 20 };

_Static_assert(ASKED == (int)CUDA_ENGINES && ASKED + CUDA_GRAPHS * CUDA_ENGINES <= (int)CUDA_WAYS,
	       "all ways can be listed");

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

/* --- what there is --------------------------------------------------------------------------- */

/* Each direction asks with its own descriptor, which has the arithmetic that is wanted. */
#define GET(NAME, PERF, CALL, DIRECTION, A, B, C) \
	static bool NAME(const struct cuda_convolution *c, struct found *found, int *count, \
			 struct train_error *error) \
	{ \
		struct cuda_device *d = cuda_device_of(&c->base.base); \
		PERF list[ASKED]; \
\
		if (!CUDA_DO(d, CUDNN, CALL, \
			     (d->cudnn, c->A, c->B, c->algorithms[DIRECTION].convolution, c->C, \
			      ASKED, count, list), \
			     error)) \
			return false; \
		for (int i = 0; i < *count; i++) \
			found[i] = (struct found){list[i].status, (int)list[i].algo, \
						  list[i].determinism, list[i].mathType}; \
		return true; \
	}

GET(get_forward, cudnnConvolutionFwdAlgoPerf_t, cudnnGetConvolutionForwardAlgorithm_v7,
    CUDA_FORWARD, input, filter_shape, output)
GET(get_data, cudnnConvolutionBwdDataAlgoPerf_t, cudnnGetConvolutionBackwardDataAlgorithm_v7,
    CUDA_DATA, filter_shape, output, input)
GET(get_weights, cudnnConvolutionBwdFilterAlgoPerf_t, cudnnGetConvolutionBackwardFilterAlgorithm_v7,
    CUDA_WEIGHTS, input, output, filter_shape)

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
	if (!cuda_cudnn_lacks(status))
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
	return o->direction != CUDA_FORWARD || o->c->base.base.shape.relu ||
	       f->number == known[CUDA_FORWARD];
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

/* The algorithms of the call for the direction. The last one is always available. */
static bool list_calls(struct cuda_ways *ways, const struct operation *o, struct train_error *error)
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

/* Engines for the values' type and, for the weights of halves, for a gradient in float32. */
static bool plan_graphs(const struct operation *o, bool compiled, int *count,
			struct train_error *error)
{
	struct cuda_algorithm *a = &o->c->algorithms[o->direction];
	enum value_type type = o->c->base.base.info.input.type;
	int graphs = o->direction == CUDA_WEIGHTS && type != VALUE_FLOAT32 ? 2 : 1;

	*count = 0;
	for (int i = 0; i < graphs && !(compiled && *count > 0); i++) {
		if (!cuda_graph_plan(o->c, o->direction, i ? VALUE_FLOAT32 : type, compiled,
				     &a->graphs[i], error))
			return false;
		*count += a->graphs[i]->count;
	}
	return true;
}

static void free_graphs(const struct operation *o)
{
	struct cuda_device *d = cuda_device_of(&o->c->base.base);
	struct cuda_algorithm *a = &o->c->algorithms[o->direction];

	for (int i = 0; i < CUDA_GRAPHS; i++) {
		cuda_graph_free(d, a->graphs[i]);
		a->graphs[i] = NULL;
	}
	a->engine = NULL;
}

/* To compile an engine takes most of a second, which several of them would add to each start of a
 * run. So one is compiled only where there is no other engine. */
static bool list_engines(const struct operation *o, struct train_error *error)
{
	int count;

	if (!plan_graphs(o, false, &count, error))
		return false;
	if (count > 0)
		return true;
	free_graphs(o);
	return plan_graphs(o, true, &count, error);
}

/* Only the first ways are tried, so calls and engines alternate. A deterministic device, which
 * takes the first that runs, has all calls first: no measurement favours an engine. */
static bool list_ways(struct cuda_ways *ways, const struct operation *o, struct train_error *error)
{
	const struct cuda_algorithm *a = &o->c->algorithms[o->direction];
	bool alternate = !cuda_device_of(&o->c->base.base)->deterministic;
	struct cuda_way calls[ASKED];
	int call_count;

	if (!list_calls(ways, o, error) || !list_engines(o, error))
		return false;
	call_count = ways->count;
	memcpy(calls, ways->list, sizeof(calls));
	if (alternate)
		ways->count = 0;
	for (int i = 0; i < CUDA_ENGINES; i++) {
		if (alternate && i < call_count)
			ways->list[ways->count++] = calls[i];
		for (int k = 0; k < CUDA_GRAPHS; k++)
			if (a->graphs[k] && i < a->graphs[k]->count)
				ways->list[ways->count++] = a->graphs[k]->engines[i].way;
	}
	if (call_count == 0)
		ways->known = ways->list[0];
	return true;
}

/* --- which is taken -------------------------------------------------------------------------- */

/* The addresses of a trial, each aligned to 256. */
static size_t place_operands(const struct operation *o, size_t *input, size_t *output)
{
	const struct op_info *info = &o->c->base.base.info;
	enum value_type type = o->direction == CUDA_WEIGHTS ? VALUE_FLOAT32 : info->input.type;

	*input = (cuda_filter_bytes(o->c, type) + 255) / 256 * 256;
	*output = *input + (info->input.bytes + 255) / 256 * 256;
	return *output + info->output.bytes;
}

static struct cuda_engine *find_engine(const struct cuda_algorithm *a, const struct cuda_way *way)
{
	for (int k = 0; k < CUDA_GRAPHS; k++)
		for (int i = 0; a->graphs[k] && i < a->graphs[k]->count; i++) {
			struct cuda_engine *e = &a->graphs[k]->engines[i];

			if (memcmp(e->way.words, way->words, sizeof(way->words)) == 0)
				return e;
		}
	return NULL;
}

static bool take(const struct operation *o, const struct cuda_way *way, struct train_error *error)
{
	struct cuda_algorithm *a = &o->c->algorithms[o->direction];

	a->number = cuda_way_number(way);
	a->workspace = way->workspace;
	a->engine = find_engine(a, way);
	return a->engine || set_math(o, (cudnnMathType_t)way->words[1], error);
}

static bool run(void *argument, const struct cuda_way *way, void *memory, void *workspace,
		struct train_error *error)
{
	const struct operation *o = argument;
	unsigned char *w = memory, *x, *y;
	struct cuda_operands operands;
	size_t input, output;

	place_operands(o, &input, &output);
	x = w + input;
	y = w + output;
	operands = (struct cuda_operands){x, w, y, NULL, workspace};
	operands.to = o->direction == CUDA_FORWARD ? y : o->direction == CUDA_DATA ? x : w;
	return take(o, way, error) && cuda_use(cuda_device_of(&o->c->base.base), error) &&
	       cuda_convolution_run(o->c, o->direction, &operands, error);
}

static struct cuda_ways new_ways(const struct cuda_convolution *c, enum cuda_direction direction)
{
	const struct op_info *info = &c->base.base.info;
	const struct op_shape *shape = &c->base.base.shape;

	return (struct cuda_ways){
		.why = TRAIN_TOLERATED,
		.what = "cuDNN",
		.key = {(uint64_t)direction, (uint64_t)info->input.type,
			(uint64_t)cuda_device_of(&c->base.base)->exact << 1 | shape->relu,
			(uint64_t)info->input.batch, (uint64_t)info->input.height,
			(uint64_t)info->input.width, (uint64_t)c->in_padded,
			(uint64_t)c->out_padded, (uint64_t)c->base.host.height,
			(uint64_t)shape->pad, (uint64_t)shape->stride},
	};
}

/* Frees what is not chosen. */
static void keep_engine(const struct operation *o)
{
	struct cuda_device *d = cuda_device_of(&o->c->base.base);
	struct cuda_algorithm *a = &o->c->algorithms[o->direction];

	if (!a->engine)
		free_graphs(o);
	for (int i = 0; i < CUDA_GRAPHS; i++)
		if (a->graphs[i])
			cuda_graph_keep(d, a->graphs[i], a->engine);
}

static bool choose(struct cuda_convolution *c, enum cuda_direction direction,
		   struct train_error *error)
{
	struct operation o = {c, direction};
	struct cuda_ways ways = new_ways(c, direction);
	struct cuda_way way;
	size_t input, output;

	ways.operands = place_operands(&o, &input, &output);
	ways.run = run;
	ways.argument = &o;
	if (!list_ways(&ways, &o, error) ||
	    !cuda_choose(cuda_device_of(&c->base.base), &ways, &way, error) ||
	    !take(&o, &way, error))
		return false;
	keep_engine(&o);
	if (direction == CUDA_WEIGHTS)
		c->filter_gradient_type = cuda_way_is_engine(&way) ? cuda_way_filter_type(&way)
								   : c->base.base.info.input.type;
	return true;
}

/* "tiled FFT", "engine 41". */
static const char *name_algorithm(const struct cuda_algorithm *a, enum cuda_direction direction,
				  char *text, size_t size)
{
	static const char *const names[CUDA_DIRECTIONS][CUDNN_CONVOLUTION_FWD_ALGO_COUNT] = {
		[CUDA_FORWARD] = {"implicit product", "implicit precomputed product", "product",
				  "direct", "FFT", "tiled FFT", "Winograd", "unfused Winograd"},
		[CUDA_DATA] = {"0", "1", "FFT", "tiled FFT", "Winograd", "unfused Winograd"},
		[CUDA_WEIGHTS] = {"0", "1", "FFT", "3", "Winograd", "unfused Winograd",
				  "tiled FFT"},
	};

	if (!a->engine)
		return names[direction][a->number];
	snprintf(text, size, "engine %d", a->number);
	return text;
}

static void describe(struct cuda_convolution *c)
{
	char text[CUDA_DIRECTIONS][24];
	const char *names[CUDA_DIRECTIONS];
	bool no_data = c->base.base.shape.no_backward_data;
	bool in_float32 = c->filter_gradient_type != c->base.base.info.input.type;

	for (int i = 0; i < CUDA_DIRECTIONS; i++)
		names[i] = name_algorithm(&c->algorithms[i], i, text[i], sizeof(text[i]));
	snprintf(c->text, sizeof(c->text), "cuDNN: %s, weights %s%s%s%s", names[CUDA_FORWARD],
		 names[CUDA_WEIGHTS], in_float32 ? " in fp32" : "", no_data ? "" : ", data ",
		 no_data ? "" : names[CUDA_DATA]);
	c->base.base.info.algorithm = c->text;
}

bool cuda_convolution_choose(struct cuda_convolution *c, struct train_error *error)
{
	struct cuda_device *d = cuda_device_of(&c->base.base);

	for (int i = 0; i < CUDA_DIRECTIONS; i++)
		if ((i != CUDA_DATA || !c->base.base.shape.no_backward_data) &&
		    !choose(c, i, error))
			return false;
	describe(c);
	for (int i = 0; i < CUDA_DIRECTIONS; i++)
		if (!cuda_want_workspace(d, c->algorithms[i].workspace, error))
			return false;
	return true;
}
