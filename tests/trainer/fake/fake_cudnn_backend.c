/* SPDX-License-Identifier: MIT */
/* Descriptors of cuDNN's graph API: their attributes, which are checked as cuDNN 9 checks them. */
#include "config.h"

#include <string.h>

#include "fake_cudnn_graph.h"

enum { KNOB_TYPE = CUDNN_KNOB_TYPE_TILE_SIZE };

/* An attribute that can be set, with the least and the greatest number of values. */
struct known {
	cudnnBackendDescriptorType_t type;
	cudnnBackendAttributeName_t name;
	cudnnBackendAttributeType_t of;
	int least, greatest;
};

#define ONE(descriptor, attribute, of) \
	{ \
		CUDNN_BACKEND_##descriptor##_DESCRIPTOR, CUDNN_ATTR_##attribute, CUDNN_TYPE_##of, \
			1, 1 \
	}
#define MANY(descriptor, attribute, of, most) \
	{ \
		CUDNN_BACKEND_##descriptor##_DESCRIPTOR, CUDNN_ATTR_##attribute, CUDNN_TYPE_##of, \
			1, most \
	}
#define CONVOLUTION(descriptor, prefix, x, w, y) \
	ONE(OPERATION_CONVOLUTION_##descriptor, OPERATION_CONVOLUTION_##prefix##_CONV_DESC, \
	    BACKEND_DESCRIPTOR), \
		ONE(OPERATION_CONVOLUTION_##descriptor, OPERATION_CONVOLUTION_##prefix##_##x, \
		    BACKEND_DESCRIPTOR), \
		ONE(OPERATION_CONVOLUTION_##descriptor, OPERATION_CONVOLUTION_##prefix##_##w, \
		    BACKEND_DESCRIPTOR), \
		ONE(OPERATION_CONVOLUTION_##descriptor, OPERATION_CONVOLUTION_##prefix##_##y, \
		    BACKEND_DESCRIPTOR), \
		ONE(OPERATION_CONVOLUTION_##descriptor, OPERATION_CONVOLUTION_##prefix##_ALPHA, \
		    FLOAT), \
		ONE(OPERATION_CONVOLUTION_##descriptor, OPERATION_CONVOLUTION_##prefix##_BETA, \
		    FLOAT)

static const struct known known[] = {
	ONE(TENSOR, TENSOR_DATA_TYPE, DATA_TYPE),
	MANY(TENSOR, TENSOR_DIMENSIONS, INT64, CUDNN_DIM_MAX),
	MANY(TENSOR, TENSOR_STRIDES, INT64, CUDNN_DIM_MAX),
	ONE(TENSOR, TENSOR_UNIQUE_ID, INT64),
	ONE(TENSOR, TENSOR_BYTE_ALIGNMENT, INT64),
	ONE(TENSOR, TENSOR_IS_VIRTUAL, BOOLEAN),
	ONE(CONVOLUTION, CONVOLUTION_COMP_TYPE, DATA_TYPE),
	ONE(CONVOLUTION, CONVOLUTION_CONV_MODE, CONVOLUTION_MODE),
	ONE(CONVOLUTION, CONVOLUTION_SPATIAL_DIMS, INT64),
	MANY(CONVOLUTION, CONVOLUTION_PRE_PADDINGS, INT64, 3),
	MANY(CONVOLUTION, CONVOLUTION_POST_PADDINGS, INT64, 3),
	MANY(CONVOLUTION, CONVOLUTION_FILTER_STRIDES, INT64, 3),
	MANY(CONVOLUTION, CONVOLUTION_DILATIONS, INT64, 3),
	ONE(POINTWISE, POINTWISE_MODE, POINTWISE_MODE),
	ONE(POINTWISE, POINTWISE_MATH_PREC, DATA_TYPE),
	CONVOLUTION(FORWARD, FORWARD, X, W, Y),
	CONVOLUTION(BACKWARD_DATA, BWD_DATA, DX, W, DY),
	CONVOLUTION(BACKWARD_FILTER, BWD_FILTER, X, DW, DY),
	ONE(OPERATION_POINTWISE, OPERATION_POINTWISE_PW_DESCRIPTOR, BACKEND_DESCRIPTOR),
	ONE(OPERATION_POINTWISE, OPERATION_POINTWISE_XDESC, BACKEND_DESCRIPTOR),
	ONE(OPERATION_POINTWISE, OPERATION_POINTWISE_BDESC, BACKEND_DESCRIPTOR),
	ONE(OPERATION_POINTWISE, OPERATION_POINTWISE_YDESC, BACKEND_DESCRIPTOR),
	ONE(OPERATIONGRAPH, OPERATIONGRAPH_HANDLE, HANDLE),
	MANY(OPERATIONGRAPH, OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, 8),
	ONE(ENGINEHEUR, ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR),
	ONE(ENGINEHEUR, ENGINEHEUR_MODE, HEUR_MODE),
	ONE(EXECUTION_PLAN, EXECUTION_PLAN_HANDLE, HANDLE),
	ONE(EXECUTION_PLAN, EXECUTION_PLAN_ENGINE_CONFIG, BACKEND_DESCRIPTOR),
	MANY(VARIANT_PACK, VARIANT_PACK_UNIQUE_IDS, INT64, 8),
	MANY(VARIANT_PACK, VARIANT_PACK_DATA_POINTERS, VOID_PTR, 8),
	ONE(VARIANT_PACK, VARIANT_PACK_WORKSPACE, VOID_PTR),
};

static size_t bytes_of(cudnnBackendAttributeType_t type)
{
	switch (type) {
	case CUDNN_TYPE_BOOLEAN:
		return sizeof(bool);
	case CUDNN_TYPE_INT64:
	case CUDNN_TYPE_HANDLE:
	case CUDNN_TYPE_VOID_PTR:
	case CUDNN_TYPE_BACKEND_DESCRIPTOR:
		return 8;
	default:
		return 4;
	}
}

const void *attribute_values(const struct backend *b, cudnnBackendAttributeName_t name)
{
	for (int i = 0; i < b->count; i++)
		if (b->list[i].name == name)
			return b->list[i].values;
	return NULL;
}

static int64_t attribute_count(const struct backend *b, cudnnBackendAttributeName_t name)
{
	for (int i = 0; i < b->count; i++)
		if (b->list[i].name == name)
			return b->list[i].count;
	return 0;
}

struct backend *attribute_child(const struct backend *b, cudnnBackendAttributeName_t name)
{
	struct backend *const *child = attribute_values(b, name);

	if (!child || !object_get(OBJECT_BACKEND, *child, "cudnnBackendFinalize"))
		return NULL;
	return (*child)->finalized ? *child : NULL;
}

struct backend *backend_get(const void *descriptor, cudnnBackendDescriptorType_t type,
			    const char *call)
{
	struct backend *b = object_get(OBJECT_BACKEND, descriptor, call);

	if (b && b->type != type) {
		fault(0, "%s: a descriptor of type %d is not of type %d", call, (int)b->type,
		      (int)type);
		return NULL;
	}
	return b;
}

cudnnStatus_t fake_cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
						cudnnBackendDescriptor_t *descriptor)
{
	struct backend *made = object_new(OBJECT_BACKEND, sizeof(*made));

	made->type = type;
	*descriptor = made;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake_cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
	if (!descriptor)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	descriptor = object_get(OBJECT_BACKEND, descriptor, "cudnnBackendDestroyDescriptor");
	if (!descriptor)
		return CUDNN_STATUS_BAD_PARAM;
	object_end(descriptor);
	return CUDNN_STATUS_SUCCESS;
}

/* The operations of a graph must be finalized before they are set; other descriptors, before what
 * has them is finalized. */
static cudnnStatus_t check_children(cudnnBackendAttributeName_t name, int64_t count,
				    const void *values)
{
	struct backend *const *children = values;

	for (int64_t i = 0; i < count; i++) {
		if (!object_get(OBJECT_BACKEND, children[i], "cudnnBackendSetAttribute"))
			return CUDNN_STATUS_BAD_PARAM;
		if (name == CUDNN_ATTR_OPERATIONGRAPH_OPS && !children[i]->finalized)
			return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
	}
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t fake_cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
					    cudnnBackendAttributeName_t name,
					    cudnnBackendAttributeType_t type, int64_t count,
					    const void *values)
{
	struct backend *b;
	const struct known *k = known, *end = known + sizeof(known) / sizeof(*known);
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

	if (!descriptor)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	b = object_get(OBJECT_BACKEND, descriptor, "cudnnBackendSetAttribute");
	if (!b || b->finalized)
		return CUDNN_STATUS_BAD_PARAM;
	while (k < end && (k->type != b->type || k->name != name))
		k++;
	if (k == end)
		return CUDNN_STATUS_BAD_PARAM;
	if (k->of != type)
		return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
	if (count < k->least || count > k->greatest || !values || b->count == ATTRIBUTES ||
	    attribute_values(b, name))
		return CUDNN_STATUS_BAD_PARAM;
	if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
		status = check_children(name, count, values);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	b->list[b->count].name = name;
	b->list[b->count].count = count;
	memcpy(b->list[b->count++].values, values, (size_t)count * bytes_of(type));
	return CUDNN_STATUS_SUCCESS;
}

/* --- what is finalized ----------------------------------------------------------------------- */

static bool has_all(const struct backend *b)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].type == b->type && !attribute_values(b, known[i].name))
			return false;
	return true;
}

static cudnnStatus_t tensor_finalize(const struct backend *b)
{
	const int64_t *alignment = attribute_values(b, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
	const cudnnDataType_t *type = attribute_values(b, CUDNN_ATTR_TENSOR_DATA_TYPE);

	if (!has_all(b) || attribute_count(b, CUDNN_ATTR_TENSOR_DIMENSIONS) !=
				   attribute_count(b, CUDNN_ATTR_TENSOR_STRIDES))
		return CUDNN_STATUS_BAD_PARAM;
	return *alignment > 0 && *alignment % (*type == CUDNN_DATA_FLOAT ? 4 : 2) == 0
		       ? CUDNN_STATUS_SUCCESS
		       : CUDNN_STATUS_BAD_PARAM;
}

static cudnnStatus_t pack_finalize(const struct backend *b)
{
	return has_all(b) && attribute_count(b, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) ==
				       attribute_count(b, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)
		       ? CUDNN_STATUS_SUCCESS
		       : CUDNN_STATUS_BAD_PARAM;
}

static cudnnStatus_t plan_finalize(struct backend *b)
{
	const struct backend *config = attribute_child(b, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);

	if (!config)
		return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
	if (!has_all(b))
		return CUDNN_STATUS_BAD_PARAM;
	b->graph = config->graph;
	b->engine = config->engine;
	return b->engine->refuses ? CUDNN_STATUS_NOT_SUPPORTED_SHAPE : CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t heuristics_finalize(struct backend *b)
{
	const struct backend *graph = attribute_child(b, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);

	if (!graph || !has_all(b))
		return CUDNN_STATUS_BAD_PARAM;
	b->graph = graph->graph;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t finalize(struct backend *b)
{
	switch (b->type) {
	case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
		return tensor_finalize(b);
	case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
		return pack_finalize(b);
	case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
		return plan_finalize(b);
	case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
		return heuristics_finalize(b);
	case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
		return has_all(b) ? graph_finalize(b) : CUDNN_STATUS_BAD_PARAM;
	case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
	case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
		return has_all(b) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
	default:
		return operation_finalize(b);
	}
}

cudnnStatus_t fake_cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
	struct backend *b;
	cudnnStatus_t status;

	if (!descriptor)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	b = object_get(OBJECT_BACKEND, descriptor, "cudnnBackendFinalize");
	if (!b || b->finalized)
		return CUDNN_STATUS_BAD_PARAM;
	status = finalize(b);
	b->finalized = status == CUDNN_STATUS_SUCCESS;
	return status;
}

/* --- what is read ---------------------------------------------------------------------------- */

/* The caller creates the descriptors that are filled. */
static cudnnStatus_t fill(struct backend *b, const struct backend *from,
			  const struct engine *engine, cudnnBackendDescriptorType_t type)
{
	b = backend_get(b, type, "cudnnBackendGetAttribute");
	if (!b)
		return CUDNN_STATUS_BAD_PARAM;
	b->graph = from->graph;
	b->engine = engine;
	b->finalized = true;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t read_results(const struct backend *b, int64_t wanted, int64_t *count,
				  struct backend **configs)
{
	const cudnnBackendHeurMode_t *mode = attribute_values(b, CUDNN_ATTR_ENGINEHEUR_MODE);
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
	const struct engine *engine;

	for (*count = 0; status == CUDNN_STATUS_SUCCESS && *count < wanted; ++*count) {
		engine = engine_of(&b->graph, *mode, (int)*count);
		if (!engine)
			return CUDNN_STATUS_SUCCESS;
		status = fill(configs[*count], b, engine, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	}
	return status;
}

static cudnnStatus_t read_notes(const struct engine *e, int64_t wanted, int64_t *count,
				cudnnBackendNumericalNote_t *notes)
{
	*count = 0;
	for (int i = 0; i < CUDNN_NUMERICAL_NOTE_TYPE_COUNT && *count < wanted; i++)
		if (e->notes >> i & 1)
			notes[(*count)++] = (cudnnBackendNumericalNote_t)i;
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t read_integer(int64_t value, int64_t wanted, int64_t *count, int64_t *values)
{
	if (wanted < 1)
		return CUDNN_STATUS_BAD_PARAM;
	*count = 1;
	*values = value;
	return CUDNN_STATUS_SUCCESS;
}

/* Attributes that can be read, with the descriptor that has them. */
static const struct known readable[] = {
	ONE(ENGINEHEUR, ENGINEHEUR_RESULTS, BACKEND_DESCRIPTOR),
	ONE(ENGINECFG, ENGINECFG_ENGINE, BACKEND_DESCRIPTOR),
	ONE(ENGINECFG, ENGINECFG_KNOB_CHOICES, BACKEND_DESCRIPTOR),
	ONE(ENGINE, ENGINE_GLOBAL_INDEX, INT64),
	ONE(ENGINE, ENGINE_NUMERICAL_NOTE, NUMERICAL_NOTE),
	ONE(ENGINE, ENGINE_BEHAVIOR_NOTE, BEHAVIOR_NOTE),
	ONE(KNOB_CHOICE, KNOB_CHOICE_KNOB_TYPE, KNOB_TYPE),
	ONE(KNOB_CHOICE, KNOB_CHOICE_KNOB_VALUE, INT64),
	ONE(EXECUTION_PLAN, EXECUTION_PLAN_WORKSPACE_SIZE, INT64),
};

static cudnnStatus_t read_attribute(const struct backend *b, cudnnBackendAttributeName_t name,
				    int64_t wanted, int64_t *count, void *values)
{
	const struct engine *e = b->engine;

	switch (name) {
	case CUDNN_ATTR_ENGINEHEUR_RESULTS:
		return read_results(b, wanted, count, values);
	case CUDNN_ATTR_ENGINECFG_ENGINE:
		*count = 1;
		return fill(*(struct backend **)values, b, e, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
	case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
		*count = e->knob && wanted > 0;
		return *count ? fill(*(struct backend **)values, b, e,
				     CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR)
			      : CUDNN_STATUS_SUCCESS;
	case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
		return read_notes(e, wanted, count, values);
	case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
		*count = e->compiled && wanted > 0;
		if (*count)
			*(cudnnBackendBehaviorNote_t *)values =
				CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
		return CUDNN_STATUS_SUCCESS;
	case CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE:
		*count = 1;
		*(cudnnBackendKnobType_t *)values = (cudnnBackendKnobType_t)KNOB_TYPE;
		return CUDNN_STATUS_SUCCESS;
	case CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE:
		return read_integer(e->knob, wanted, count, values);
	case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
		return read_integer(e->number, wanted, count, values);
	default:
		return read_integer((int64_t)e->workspace, wanted, count, values);
	}
}

cudnnStatus_t fake_cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
					    cudnnBackendAttributeName_t name,
					    cudnnBackendAttributeType_t type, int64_t wanted,
					    int64_t *count, void *values)
{
	const struct backend *b;
	const struct known *k = readable;
	const struct known *end = readable + sizeof(readable) / sizeof(*readable);

	if (!descriptor)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	b = object_get(OBJECT_BACKEND, descriptor, "cudnnBackendGetAttribute");
	if (!b || !count || (wanted > 0 && !values))
		return CUDNN_STATUS_BAD_PARAM;
	if (!b->finalized)
		return CUDNN_STATUS_NOT_INITIALIZED;
	while (k < end && (k->type != b->type || k->name != name))
		k++;
	if (k == end)
		return CUDNN_STATUS_BAD_PARAM;
	return k->of == type ? read_attribute(b, name, wanted, count, values)
			     : CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
}
