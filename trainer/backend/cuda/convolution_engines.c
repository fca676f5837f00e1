/* SPDX-License-Identifier: MIT */
/*
 * Engines of cuDNN's graph API. A direction is a graph of operations on tensors; cuDNN's heuristics
 * (mode A, which puts the best first, then the fallbacks) give engines with their knobs for it, and
 * each becomes an execution plan. Numbers and knobs of engines are cuDNN's own, and the same for
 * all GPUs of one kind.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cuda/convolution.h"
#include "memory.h"

/* A word has two knobs: a type (8 bits, plus 1) and a value (24 bits). */
enum { NOTES = 32, KNOBS = 2 * (CUDA_WAY_WORDS - 1), KNOB_BITS = 24 };

/* Bytes that cuDNN may expect an address to be a multiple of. Channels are padded to it. */
static const int64_t alignment = 16;

/* Makes descriptors. After a call that did not succeed no other is made. */
struct builder {
	struct cuda_convolution *convolution;
	struct cuda_device *device;
	struct cuda_graph *graph;
	cudnnBackendDescriptor_t knobs[KNOBS + 1];
	cudnnStatus_t status;
	const char *call;
};

#define DO(b, name, arguments) \
	do { \
		if ((b)->status == CUDNN_STATUS_SUCCESS) { \
			(b)->status = (b)->device->calls->name arguments; \
			(b)->call = #name; \
		} \
	} while (0)

bool cuda_cudnn_lacks(cudnnStatus_t status)
{
	int category = CUDNN_STATUS_CATEGORY((int)status);

	return category == CUDNN_STATUS_NOT_SUPPORTED || category == CUDNN_STATUS_BAD_PARAM ||
	       status == CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED ||
	       status == CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED;
}

/* A device that has failed returns that error from every call. */
static bool answers(struct cuda_device *d)
{
	cudaError_t status = d->calls->cudaStreamQuery(d->stream);

	d->calls->cudaGetLastError();
	return status == cudaSuccess || status == cudaErrorNotReady;
}

/* *has: whether all calls since the last settle() succeeded. Whatever an engine's status is, others
 * may do. False if the device failed. */
static bool settle(struct builder *b, bool *has, struct train_error *error)
{
	cudnnStatus_t status = b->status;

	*has = status == CUDNN_STATUS_SUCCESS;
	b->status = CUDNN_STATUS_SUCCESS;
	return *has || cuda_cudnn_lacks(status) || answers(b->device) ||
	       cuda_done(b->device, CUDA_LIBRARY_CUDNN, (int)status, b->call, error);
}

/* --- descriptors ----------------------------------------------------------------------------- */

static cudnnBackendDescriptor_t create(struct builder *b, cudnnBackendDescriptorType_t type)
{
	cudnnBackendDescriptor_t made = NULL;

	DO(b, cudnnBackendCreateDescriptor, (type, &made));
	return b->status == CUDNN_STATUS_SUCCESS ? made : NULL;
}

static void destroy(struct cuda_device *d, cudnnBackendDescriptor_t descriptor)
{
	if (descriptor)
		CUDA_END(d, CUDNN, cudnnBackendDestroyDescriptor, (descriptor));
}

/* A descriptor that the graph keeps. */
static cudnnBackendDescriptor_t create_part(struct builder *b, cudnnBackendDescriptorType_t type)
{
	cudnnBackendDescriptor_t made = create(b, type);

	if (made)
		b->graph->parts[b->graph->part_count++] = made;
	return made;
}

static void set(struct builder *b, cudnnBackendDescriptor_t descriptor,
		cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
		const void *values)
{
	DO(b, cudnnBackendSetAttribute, (descriptor, name, type, count, values));
}

static void set_integers(struct builder *b, cudnnBackendDescriptor_t descriptor,
			 cudnnBackendAttributeName_t name, int64_t count, const int64_t *values)
{
	set(b, descriptor, name, CUDNN_TYPE_INT64, count, values);
}

static void set_type(struct builder *b, cudnnBackendDescriptor_t descriptor,
		     cudnnBackendAttributeName_t name, cudnnDataType_t type)
{
	set(b, descriptor, name, CUDNN_TYPE_DATA_TYPE, 1, &type);
}

static void set_child(struct builder *b, cudnnBackendDescriptor_t descriptor,
		      cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t child)
{
	set(b, descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &child);
}

/* Returns how many values there are, at most `room`. */
static int get(struct builder *b, cudnnBackendDescriptor_t descriptor,
	       cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int room,
	       void *values)
{
	int64_t count = 0;

	DO(b, cudnnBackendGetAttribute, (descriptor, name, type, room, &count, values));
	if (b->status != CUDNN_STATUS_SUCCESS)
		return 0;
	return count < room ? (int)count : room;
}

static void finalize(struct builder *b, cudnnBackendDescriptor_t descriptor)
{
	DO(b, cudnnBackendFinalize, (descriptor));
}

/* --- the graph ------------------------------------------------------------------------------- */

struct shape {
	cudnnDataType_t type;
	int64_t n, c, h, w;
};

/* The descriptor of a tensor in the order (n, h, w, c), which has no memory if it is virtual. */
static cudnnBackendDescriptor_t describe_tensor(struct builder *b, enum cuda_tensor id,
						const struct shape *s, bool is_virtual)
{
	const int64_t sizes[] = {s->n, s->c, s->h, s->w}, number = id;
	const int64_t strides[] = {s->h * s->w * s->c, 1, s->w * s->c, s->c};
	cudnnBackendDescriptor_t tensor = create_part(b, CUDNN_BACKEND_TENSOR_DESCRIPTOR);

	set_type(b, tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, s->type);
	set_integers(b, tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, 4, sizes);
	set_integers(b, tensor, CUDNN_ATTR_TENSOR_STRIDES, 4, strides);
	set_integers(b, tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, 1, &number);
	set_integers(b, tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1, &alignment);
	set(b, tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
	finalize(b, tensor);
	return tensor;
}

static struct shape shape_of(const struct layout *layout)
{
	return (struct shape){cuda_cudnn_type(layout->type), layout->batch, cuda_channels(layout),
			      layout->height, layout->width};
}

static cudnnBackendDescriptor_t describe_convolution(struct builder *b)
{
	const struct op_shape *s = &b->convolution->base.base.shape;
	const int64_t pad[] = {s->pad, s->pad}, stride[] = {s->stride, s->stride}, one[] = {1, 1};
	const int64_t dimensions = 2;
	const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
	cudnnBackendDescriptor_t how = create_part(b, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);

	set_type(b, how, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
	set(b, how, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
	set_integers(b, how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 1, &dimensions);
	set_integers(b, how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 2, pad);
	set_integers(b, how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 2, pad);
	set_integers(b, how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 2, stride);
	set_integers(b, how, CUDNN_ATTR_CONVOLUTION_DILATIONS, 2, one);
	finalize(b, how);
	return how;
}

/* The operation of each direction, with the names of its attributes. */
static const struct operation_names {
	cudnnBackendDescriptorType_t type;
	cudnnBackendAttributeName_t how, x, w, y, alpha, beta;
} operation_names[CUDA_DIRECTIONS] = {
	[CUDA_FORWARD] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
			  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
			  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
			  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
			  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
			  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
			  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
	[CUDA_DATA] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
		       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
		       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
		       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
		       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
		       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
		       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
	[CUDA_WEIGHTS] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
			  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
			  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
			  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
			  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
			  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
			  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

static cudnnBackendDescriptor_t describe_operation(struct builder *b, enum cuda_direction direction,
						   cudnnBackendDescriptor_t x,
						   cudnnBackendDescriptor_t w,
						   cudnnBackendDescriptor_t y)
{
	const struct operation_names *names = &operation_names[direction];
	const float one = 1, zero = 0;
	cudnnBackendDescriptor_t how = describe_convolution(b);
	cudnnBackendDescriptor_t operation = create_part(b, names->type);

	set_child(b, operation, names->how, how);
	set_child(b, operation, names->x, x);
	set_child(b, operation, names->w, w);
	set_child(b, operation, names->y, y);
	set(b, operation, names->alpha, CUDNN_TYPE_FLOAT, 1, &one);
	set(b, operation, names->beta, CUDNN_TYPE_FLOAT, 1, &zero);
	finalize(b, operation);
	return operation;
}

/* to = mode(from), or mode(from, with). */
static cudnnBackendDescriptor_t describe_pointwise(struct builder *b, cudnnPointwiseMode_t mode,
						   cudnnBackendDescriptor_t from,
						   cudnnBackendDescriptor_t with,
						   cudnnBackendDescriptor_t to)
{
	cudnnBackendDescriptor_t how = create_part(b, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
	cudnnBackendDescriptor_t operation;

	set(b, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
	set_type(b, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
	finalize(b, how);
	operation = create_part(b, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
	set_child(b, operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
	set_child(b, operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, from);
	if (with)
		set_child(b, operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, with);
	set_child(b, operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
	finalize(b, operation);
	return operation;
}

/* Forward is y = relu(x * w + bias) or x * w + bias, with sums in float32. Returns the number of
 * operations. */
static int describe_forward(struct builder *b, cudnnBackendDescriptor_t operations[3],
			    cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t w,
			    cudnnBackendDescriptor_t y)
{
	struct shape sums = shape_of(&b->convolution->base.base.info.output);
	const struct shape row = {sums.type, 1, sums.c, 1, 1};
	cudnnBackendDescriptor_t bias = describe_tensor(b, CUDA_BIAS, &row, false), summed, biased;
	bool relu = b->convolution->base.base.shape.relu;

	sums.type = CUDNN_DATA_FLOAT;
	summed = describe_tensor(b, CUDA_SUMS, &sums, true);
	biased = relu ? describe_tensor(b, CUDA_BIASED, &sums, true) : y;
	operations[0] = describe_operation(b, CUDA_FORWARD, x, w, summed);
	operations[1] = describe_pointwise(b, CUDNN_POINTWISE_ADD, summed, bias, biased);
	if (!relu)
		return 2;
	operations[2] = describe_pointwise(b, CUDNN_POINTWISE_RELU_FWD, biased, NULL, y);
	return 3;
}

static void describe_graph(struct builder *b, enum cuda_direction direction)
{
	const struct cuda_convolution *c = b->convolution;
	const struct shape x_shape = shape_of(&c->base.base.info.input);
	const struct shape y_shape = shape_of(&c->base.base.info.output);
	const struct shape w_shape = {cuda_cudnn_type(b->graph->filter_type), c->out_padded,
				      c->in_padded, c->base.host.height, c->base.host.width};
	cudnnBackendDescriptor_t x = describe_tensor(b, CUDA_X, &x_shape, false);
	cudnnBackendDescriptor_t w = describe_tensor(b, CUDA_W, &w_shape, false);
	cudnnBackendDescriptor_t y = describe_tensor(b, CUDA_Y, &y_shape, false);
	cudnnBackendDescriptor_t operations[3], graph;
	int count = 1;

	if (direction == CUDA_FORWARD)
		count = describe_forward(b, operations, x, w, y);
	else
		operations[0] = describe_operation(b, direction, x, w, y);
	graph = create_part(b, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
	set(b, graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &b->device->cudnn);
	set(b, graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count,
	    operations);
	finalize(b, graph);
}

/* --- engines --------------------------------------------------------------------------------- */

/* An engine as cuDNN describes it: its number, a bit for each numerical note, and its knobs. */
struct found {
	int64_t number;
	uint32_t notes;
	bool compiled; /* at run time */
	int knob_count;
	cudnnBackendKnobType_t knobs[KNOBS + 1];
	int64_t values[KNOBS + 1];
};

static void read_engine(struct builder *b, struct found *f, cudnnBackendDescriptor_t config)
{
	cudnnBackendDescriptor_t engine = create(b, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
	cudnnBackendNumericalNote_t numerical[NOTES];
	cudnnBackendBehaviorNote_t behavior[NOTES];
	int count;

	get(b, config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
	get(b, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &f->number);
	count = get(b, engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, NOTES,
		    numerical);
	for (int i = 0; i < count; i++)
		f->notes |= 1U << ((unsigned int)numerical[i] % NOTES);
	count = get(b, engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, NOTES,
		    behavior);
	for (int i = 0; i < count; i++)
		f->compiled = f->compiled || behavior[i] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
	destroy(b->device, engine);
}

static void read_knobs(struct builder *b, struct found *f, cudnnBackendDescriptor_t config)
{
	f->knob_count = get(b, config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
			    CUDNN_TYPE_BACKEND_DESCRIPTOR, KNOBS + 1, b->knobs);
	for (int i = 0; i < f->knob_count; i++) {
		get(b, b->knobs[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1,
		    &f->knobs[i]);
		get(b, b->knobs[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1,
		    &f->values[i]);
	}
}

/* Whether the engine computes the required values. Sums are float32, and inputs are not rounded
 * further; float32 by TF32 has the note TENSOR_CORE only. */
static bool is_wanted(const struct builder *b, const struct found *f)
{
	const uint32_t exact =
		1U << CUDNN_NUMERICAL_NOTE_TENSOR_CORE | 1U << CUDNN_NUMERICAL_NOTE_FFT |
		1U << CUDNN_NUMERICAL_NOTE_WINOGRAD | 1U << CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4 |
		1U << CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6 |
		1U << CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13;
	uint32_t unwanted = 1U << CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS |
			    1U << CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION;

	if (b->device->deterministic)
		unwanted |= 1U << CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
	if (cuda_math(b->convolution) == CUDNN_FMA_MATH)
		unwanted |= exact;
	return !(f->notes & unwanted);
}

/* The number, the filter's type and the knobs as the words of a way. False if they do not fit. */
static bool put_words(struct cuda_way *way, const struct found *f, enum value_type filter_type)
{
	const int64_t most = (1 << (KNOB_BITS - 1)) - 1;

	way->words[0] = 1ULL << 63 | (uint64_t)filter_type << 32 | (uint32_t)f->number;
	if (f->knob_count > KNOBS || f->number < 0 || f->number > INT32_MAX)
		return false;
	for (int i = 0; i < f->knob_count; i++) {
		uint64_t knob = (uint64_t)f->knobs[i] + 1, value = (uint64_t)f->values[i];

		if (f->values[i] > most || f->values[i] < -most || knob > UINT8_MAX)
			return false;
		knob = knob << KNOB_BITS | (value & ((1U << KNOB_BITS) - 1));
		way->words[1 + i / 2] |= knob << (i % 2 ? 32 : 0);
	}
	return true;
}

bool cuda_way_is_engine(const struct cuda_way *way)
{
	return way->words[0] >> 63;
}

int cuda_way_number(const struct cuda_way *way)
{
	return (int)(uint32_t)way->words[0];
}

enum value_type cuda_way_filter_type(const struct cuda_way *way)
{
	return (enum value_type)(way->words[0] >> 32 & UINT8_MAX);
}

static bool is_listed(const struct cuda_graph *graph, const struct cuda_way *way)
{
	for (int i = 0; i < graph->count; i++)
		if (memcmp(graph->engines[i].way.words, way->words, sizeof(way->words)) == 0)
			return true;
	return false;
}

static void make_plan(struct builder *b, struct cuda_engine *e)
{
	int64_t workspace = 0;

	e->plan = create(b, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	set(b, e->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &b->device->cudnn);
	set_child(b, e->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, e->config);
	finalize(b, e->plan);
	get(b, e->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &workspace);
	e->way.workspace = workspace > 0 ? (size_t)workspace : 0;
}

/* Lists the engine of the configuration, if it can be used; *config is then NULL. */
static bool list_engine(struct builder *b, cudnnBackendDescriptor_t *config, bool compiled,
			struct train_error *error)
{
	struct cuda_engine e = {.config = *config};
	struct found f = {.number = -1};
	bool has, done;

	read_engine(b, &f, *config);
	read_knobs(b, &f, *config);
	if (!settle(b, &has, error))
		return false;
	if (!has || f.compiled != compiled || !is_wanted(b, &f) ||
	    !put_words(&e.way, &f, b->graph->filter_type) || is_listed(b->graph, &e.way))
		return true;
	make_plan(b, &e);
	done = settle(b, &has, error);
	if (!done || !has) {
		destroy(b->device, e.plan);
		return done;
	}
	b->graph->engines[b->graph->count++] = e;
	*config = NULL;
	return true;
}

/* Asks the heuristics. Returns the number of configurations. */
static int ask(struct builder *b, cudnnBackendHeurMode_t mode, cudnnBackendDescriptor_t *configs)
{
	cudnnBackendDescriptor_t heuristics = create(b, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
	int count;

	set_child(b, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
		  b->graph->parts[b->graph->part_count - 1]);
	set(b, heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
	finalize(b, heuristics);
	for (int i = 0; i < CUDA_ENGINES; i++)
		configs[i] = create(b, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	count = get(b, heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
		    CUDA_ENGINES, configs);
	destroy(b->device, heuristics);
	return count;
}

/* At most one engine that is compiled at run time. */
static bool list_engines(struct builder *b, cudnnBackendHeurMode_t mode, bool compiled,
			 struct train_error *error)
{
	cudnnBackendDescriptor_t configs[CUDA_ENGINES] = {NULL};
	int most = compiled ? 1 : CUDA_ENGINES, count = ask(b, mode, configs);
	bool has, done = settle(b, &has, error);

	for (int i = 0; done && i < count && b->graph->count < most; i++)
		done = list_engine(b, &configs[i], compiled, error);
	for (int i = 0; i < CUDA_ENGINES; i++)
		destroy(b->device, configs[i]);
	return done;
}

static bool plan(struct builder *b, enum cuda_direction direction, bool compiled,
		 struct train_error *error)
{
	bool has;

	describe_graph(b, direction);
	for (int i = 0; i <= KNOBS; i++)
		b->knobs[i] = create(b, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
	return settle(b, &has, error) &&
	       (!has || (list_engines(b, CUDNN_HEUR_MODE_A, compiled, error) &&
			 list_engines(b, CUDNN_HEUR_MODE_FALLBACK, compiled, error)));
}

/* A plan may load what it runs, which can wait for the GPU. */
bool cuda_graph_plan(struct cuda_convolution *c, enum cuda_direction direction,
		     enum value_type filter_type, bool compiled, struct cuda_graph **graph,
		     struct train_error *error)
{
	struct builder b = {.convolution = c, .device = cuda_device_of(&c->base.base)};
	bool done;

	*graph = b.graph = xcalloc(1, sizeof(**graph));
	b.graph->filter_type = filter_type;
	cuda_captures_lock();
	done = plan(&b, direction, compiled, error);
	for (int i = 0; i <= KNOBS; i++)
		destroy(b.device, b.knobs[i]);
	cuda_captures_unlock();
	return done;
}

static void free_engine(struct cuda_device *d, struct cuda_engine *e)
{
	destroy(d, e->pack);
	destroy(d, e->plan);
	destroy(d, e->config);
	*e = (struct cuda_engine){.plan = NULL};
}

void cuda_graph_keep(struct cuda_device *d, struct cuda_graph *graph,
		     const struct cuda_engine *engine)
{
	for (int i = 0; i < graph->count; i++)
		if (&graph->engines[i] != engine)
			free_engine(d, &graph->engines[i]);
}

void cuda_graph_free(struct cuda_device *d, struct cuda_graph *graph)
{
	if (!graph)
		return;
	cuda_graph_keep(d, graph, NULL);
	while (graph->part_count > 0)
		destroy(d, graph->parts[--graph->part_count]);
	free(graph);
}
