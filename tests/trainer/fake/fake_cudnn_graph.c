/* SPDX-License-Identifier: MIT */
/* What a graph of cuDNN's graph API computes: its tensors, operations and their order. */
#include "config.h"

#include <string.h>

#include "fake_cudnn_graph.h"

static int64_t integer(const struct backend *b, cudnnBackendAttributeName_t name, int i)
{
	const int64_t *values = attribute_values(b, name);

	return values[i];
}

/* For enumerations, whose types have the size of an int. */
static int word(const struct backend *b, cudnnBackendAttributeName_t name)
{
	int value;

	memcpy(&value, attribute_values(b, name), sizeof(value));
	return value;
}

static bool is_virtual(const struct backend *tensor)
{
	return *(const bool *)attribute_values(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
}

/* False for strides that are neither NHWC nor NCHW without gaps. */
static bool shape_of(struct shape *s, const struct backend *tensor)
{
	const int64_t *size = attribute_values(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
	const int64_t *stride = attribute_values(tensor, CUDNN_ATTR_TENSOR_STRIDES);
	const int64_t n = size[0], c = size[1], h = size[2], w = size[3];
	const int64_t nhwc[] = {h * w * c, 1, w * c, c}, nchw[] = {c * h * w, h * w, w, 1};

	*s = (struct shape){true,
			    (cudnnDataType_t)word(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE),
			    CUDNN_TENSOR_NHWC,
			    (int)n,
			    (int)c,
			    (int)h,
			    (int)w};
	if (memcmp(stride, nhwc, sizeof(nhwc)) == 0)
		return true;
	s->format = CUDNN_TENSOR_NCHW;
	return memcmp(stride, nchw, sizeof(nchw)) == 0;
}

/* The attributes of a convolution in each direction. */
static const struct names {
	cudnnBackendDescriptorType_t type;
	cudnnBackendAttributeName_t how, x, w, y, alpha, beta;
} names[DIRECTIONS] = {
	[FORWARD] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
		     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
		     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
		     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
		     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
		     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
		     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
	[BACKWARD_DATA] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
			   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
			   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
			   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
			   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
			   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
			   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
	[BACKWARD_FILTER] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
			     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
			     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
			     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
			     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
			     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
			     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

static enum direction direction_of(const struct backend *operation)
{
	int i = 0;

	while (i < DIRECTIONS && names[i].type != operation->type)
		i++;
	return (enum direction)i;
}

/* Notes a tensor of the graph. */
static bool take_tensor(struct graph *g, const struct backend *tensor, struct shape *shape,
			int64_t *id)
{
	int64_t alignment = integer(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 0);

	if (g->alignment == 0 || alignment < g->alignment)
		g->alignment = alignment;
	*id = integer(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
	return shape_of(shape, tensor);
}

/* False if no engine computes it, whatever its sizes. */
static bool take_convolution(struct graph *g, const struct backend *operation)
{
	const struct names *of = &names[direction_of(operation)];
	const struct backend *how = attribute_child(operation, of->how);
	struct convolution *v = &g->convolution;
	const float *alpha = attribute_values(operation, of->alpha);
	const float *beta = attribute_values(operation, of->beta);
	bool has_x = take_tensor(g, attribute_child(operation, of->x), &v->x, &g->x);
	bool has_w = take_tensor(g, attribute_child(operation, of->w), &v->w, &g->w);
	bool has_y = take_tensor(g, attribute_child(operation, of->y), &v->y, &g->y);

	g->direction = direction_of(operation);
	v->pad_h = (int)integer(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0);
	v->pad_w = (int)integer(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 1);
	v->stride_h = (int)integer(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 0);
	v->stride_w = (int)integer(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1);
	return has_x && has_w && has_y && *alpha == 1 && *beta == 0 &&
	       word(how, CUDNN_ATTR_CONVOLUTION_COMP_TYPE) == CUDNN_DATA_FLOAT &&
	       word(how, CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CROSS_CORRELATION &&
	       integer(how, CUDNN_ATTR_CONVOLUTION_DILATIONS, 0) == 1 &&
	       integer(how, CUDNN_ATTR_CONVOLUTION_DILATIONS, 1) == 1 &&
	       integer(how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0) == 2 &&
	       integer(how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0) == v->pad_h &&
	       integer(how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 1) == v->pad_w;
}

static cudnnStatus_t pointwise_finalize(struct backend *b)
{
	const struct backend *how =
		attribute_child(b, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
	bool has_b = attribute_child(b, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);

	if (!how || !attribute_child(b, CUDNN_ATTR_OPERATION_POINTWISE_XDESC) ||
	    !attribute_child(b, CUDNN_ATTR_OPERATION_POINTWISE_YDESC) ||
	    has_b != (word(how, CUDNN_ATTR_POINTWISE_MODE) == CUDNN_POINTWISE_ADD))
		return CUDNN_STATUS_BAD_PARAM;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t operation_finalize(struct backend *b)
{
	enum direction direction = direction_of(b);
	struct graph g = {.x = 0};

	if (b->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
		return pointwise_finalize(b);
	if (direction == DIRECTIONS)
		return CUDNN_STATUS_BAD_PARAM;
	if (!attribute_child(b, names[direction].how) || !attribute_child(b, names[direction].x) ||
	    !attribute_child(b, names[direction].w) || !attribute_child(b, names[direction].y) ||
	    !attribute_values(b, names[direction].alpha) ||
	    !attribute_values(b, names[direction].beta))
		return CUDNN_STATUS_BAD_PARAM;
	take_convolution(&g, b);
	return sizes_agree(&g.convolution) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

/* The sums between the operations are float32 without memory. */
static bool is_between(const struct backend *tensor)
{
	return is_virtual(tensor) && word(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE) == CUDNN_DATA_FLOAT;
}

static bool take_bias(struct graph *g, const struct backend *operation)
{
	const struct backend *bias =
		attribute_child(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
	const struct shape *y = &g->convolution.y;
	struct shape shape;

	if (g->has_bias || g->relu)
		return false;
	g->has_bias = true;
	g->bias_type = (cudnnDataType_t)word(bias, CUDNN_ATTR_TENSOR_DATA_TYPE);
	return take_tensor(g, bias, &shape, &g->bias) && !is_virtual(bias) && shape.n == 1 &&
	       shape.c == y->c && shape.h == 1 && shape.w == 1;
}

/* A pointwise operation on what the one before it wrote. */
static bool take_pointwise(struct graph *g, const struct backend *operation,
			   const struct backend **last)
{
	const struct backend *how =
		attribute_child(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
	struct shape shape, before = g->convolution.y;
	bool taken;

	if (operation->type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR ||
	    attribute_child(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC) != *last ||
	    !is_between(*last) || word(how, CUDNN_ATTR_POINTWISE_MATH_PREC) != CUDNN_DATA_FLOAT)
		return false;
	*last = attribute_child(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
	if (word(how, CUDNN_ATTR_POINTWISE_MODE) == CUDNN_POINTWISE_ADD)
		taken = take_bias(g, operation);
	else
		taken = word(how, CUDNN_ATTR_POINTWISE_MODE) == CUDNN_POINTWISE_RELU_FWD &&
			g->has_bias && !g->relu;
	g->relu = word(how, CUDNN_ATTR_POINTWISE_MODE) == CUDNN_POINTWISE_RELU_FWD;
	if (!taken || !take_tensor(g, *last, &shape, &g->y))
		return false;
	g->convolution.y = shape;
	return shape.n == before.n && shape.c == before.c && shape.h == before.h &&
	       shape.w == before.w;
}

/* Types that engines know: all alike, or a gradient of the filter in float32. */
static bool knows_types(const struct graph *g)
{
	const struct convolution *v = &g->convolution;

	return (!g->has_bias || g->bias_type == v->y.type) && v->x.type == v->y.type &&
	       v->x.format == v->y.format && v->x.format == v->w.format &&
	       (v->w.type == v->x.type ||
		(g->direction == BACKWARD_FILTER && v->w.type == CUDNN_DATA_FLOAT));
}

cudnnStatus_t graph_finalize(struct backend *b)
{
	struct backend *const *operations = attribute_values(b, CUDNN_ATTR_OPERATIONGRAPH_OPS);
	struct graph *g = &b->graph;
	const struct backend *last;
	int64_t count = 0;

	for (int i = 0; i < b->count; i++)
		if (b->list[i].name == CUDNN_ATTR_OPERATIONGRAPH_OPS)
			count = b->list[i].count;
	*g = (struct graph){.x = 0};
	if (direction_of(operations[0]) == DIRECTIONS)
		return CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN;
	g->supported = take_convolution(g, operations[0]);
	last = attribute_child(operations[0], names[g->direction].y);
	if (count > 1 && g->direction != FORWARD)
		g->supported = false;
	for (int64_t i = 1; i < count && g->supported; i++)
		g->supported = take_pointwise(g, operations[i], &last);
	g->supported = g->supported && !is_virtual(last) && knows_types(g);
	return CUDNN_STATUS_SUCCESS;
}
