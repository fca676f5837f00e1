/* SPDX-License-Identifier: MIT */
/* The graph API of the pretended cuDNN: its results are those of its calls for convolutions, and it
 * refuses what cuDNN 9.19 refuses, with the same statuses. */
#include "config.h"

#include "fake_tensors.h"

enum { X = 1, W, Y, BIAS, SUMS, BIASED, PARTS = 40 };

static const struct row rows[] = {
	{"bf16 3x3", CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_NHWC, 3, 8, 6, 5, 16, 3, 1, 1},
	{"fp16 5x5", CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC, 2, 8, 9, 9, 8, 5, 0, 1},
	{"fp32 3x3", CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, 2, 4, 7, 6, 5, 3, 1, 1},
};

static cudnnBackendDescriptor_t parts[PARTS];
static int part_count;

static cudnnBackendDescriptor_t create(cudnnBackendDescriptorType_t type)
{
	OK(cu.cudnnBackendCreateDescriptor(type, &parts[part_count]));
	return parts[part_count++];
}

static void free_parts(void)
{
	while (part_count > 0)
		OK(cu.cudnnBackendDestroyDescriptor(parts[--part_count]));
}

static void set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
		cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
	OK(cu.cudnnBackendSetAttribute(descriptor, name, type, count, values));
}

static void set_child(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
		      cudnnBackendDescriptor_t child)
{
	set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &child);
}

static int get(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
	       cudnnBackendAttributeType_t type, int64_t room, void *values)
{
	int64_t count = -1;

	OK(cu.cudnnBackendGetAttribute(descriptor, name, type, room, &count, values));
	return (int)count;
}

static cudnnBackendDescriptor_t tensor_begin(int64_t id, cudnnDataType_t type, const struct data *d,
					     bool is_virtual)
{
	const int64_t sizes[] = {d->n, d->c, d->h, d->w}, alignment = 16;
	const int64_t strides[] = {(int64_t)d->h * d->w * d->c, 1, (int64_t)d->w * d->c, d->c};
	cudnnBackendDescriptor_t tensor = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);

	set(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	set(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, sizes);
	set(tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
	set(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
	set(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
	set(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
	return tensor;
}

static cudnnBackendDescriptor_t tensor_new(int64_t id, cudnnDataType_t type, const struct data *d,
					   bool is_virtual)
{
	cudnnBackendDescriptor_t tensor = tensor_begin(id, type, d, is_virtual);

	OK(cu.cudnnBackendFinalize(tensor));
	return tensor;
}

static cudnnBackendDescriptor_t convolution_new(const struct row *row)
{
	const int64_t two = 2, pad[] = {row->pad, row->pad}, stride[] = {row->stride, row->stride};
	const int64_t one[] = {1, 1};
	const cudnnDataType_t type = CUDNN_DATA_FLOAT;
	const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
	cudnnBackendDescriptor_t how = create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);

	set(how, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
	set(how, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
	set(how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &two);
	set(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, pad);
	set(how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, pad);
	set(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, stride);
	set(how, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, one);
	OK(cu.cudnnBackendFinalize(how));
	return how;
}

static cudnnBackendDescriptor_t forward_begin(const struct row *row, cudnnBackendDescriptor_t x,
					      cudnnBackendDescriptor_t w,
					      cudnnBackendDescriptor_t y)
{
	const float one = 1, zero = 0;
	cudnnBackendDescriptor_t how = convolution_new(row);
	cudnnBackendDescriptor_t forward =
		create(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);

	set_child(forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, how);
	set_child(forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
	set_child(forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
	set_child(forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
	set(forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &one);
	set(forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &zero);
	return forward;
}

static cudnnBackendDescriptor_t pointwise_new(cudnnPointwiseMode_t mode,
					      cudnnBackendDescriptor_t from,
					      cudnnBackendDescriptor_t with,
					      cudnnBackendDescriptor_t to)
{
	const cudnnDataType_t type = CUDNN_DATA_FLOAT;
	cudnnBackendDescriptor_t how = create(CUDNN_BACKEND_POINTWISE_DESCRIPTOR), operation;

	set(how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
	set(how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
	OK(cu.cudnnBackendFinalize(how));
	operation = create(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
	set_child(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
	set_child(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, from);
	if (with)
		set_child(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, with);
	set_child(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
	OK(cu.cudnnBackendFinalize(operation));
	return operation;
}

static cudnnBackendDescriptor_t graph_begin(int count, const cudnnBackendDescriptor_t *operations)
{
	cudnnBackendDescriptor_t graph = create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);

	set(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &s.handle);
	set(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, operations);
	return graph;
}

/* relu(x * w + bias) of the row. sums: the type of what is between. */
static cudnnBackendDescriptor_t fused_graph(const struct row *row, cudnnDataType_t sums,
					    bool is_virtual)
{
	cudnnBackendDescriptor_t x = tensor_new(X, row->type, &s.x, false);
	cudnnBackendDescriptor_t w = tensor_new(W, row->type, &s.w, false);
	cudnnBackendDescriptor_t y = tensor_new(Y, row->type, &s.y, false);
	cudnnBackendDescriptor_t bias = tensor_new(BIAS, row->type, &s.bias, false);
	cudnnBackendDescriptor_t summed = tensor_new(SUMS, sums, &s.y, is_virtual);
	cudnnBackendDescriptor_t biased = tensor_new(BIASED, sums, &s.y, is_virtual);
	cudnnBackendDescriptor_t operations[3], graph;

	operations[0] = forward_begin(row, x, w, summed);
	OK(cu.cudnnBackendFinalize(operations[0]));
	operations[1] = pointwise_new(CUDNN_POINTWISE_ADD, summed, bias, biased);
	operations[2] = pointwise_new(CUDNN_POINTWISE_RELU_FWD, biased, NULL, y);
	graph = graph_begin(3, operations);
	OK(cu.cudnnBackendFinalize(graph));
	return graph;
}

/* Returns how many configurations of the mode there are, at most `room`. */
static int ask(cudnnBackendDescriptor_t graph, cudnnBackendHeurMode_t mode, int room,
	       cudnnBackendDescriptor_t *configs)
{
	cudnnBackendDescriptor_t heuristics = create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);

	set_child(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
	set(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
	OK(cu.cudnnBackendFinalize(heuristics));
	for (int i = 0; i < room; i++)
		configs[i] = create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	return get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, room,
		   configs);
}

static cudnnBackendDescriptor_t plan_begin(cudnnBackendDescriptor_t config)
{
	cudnnBackendDescriptor_t plan = create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);

	set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &s.handle);
	set_child(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
	return plan;
}

static cudnnBackendDescriptor_t pack_new(int count, void *x, void *workspace)
{
	const int64_t ids[] = {X, W, Y, BIAS};
	void *const addresses[] = {x, s.w.memory, s.y.memory, s.bias.memory};
	cudnnBackendDescriptor_t pack = create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);

	set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids);
	set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, addresses);
	set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
	OK(cu.cudnnBackendFinalize(pack));
	return pack;
}

/* The fused call of cuDNN is the reference: t-fake-cudnn tests it. */
static void compute_reference(void *to)
{
	const float one = 1, zero = 0;

	OK(cu.cudnnConvolutionBiasActivationForward(
		s.handle, &one, s.x_desc, s.x.memory, s.w_desc, s.w.memory, s.convolution,
		CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, NULL, 0, &zero, s.y_desc, to, s.bias_desc,
		s.bias.memory, s.activation, s.y_desc, to));
}

START_TEST(a_graph_is_the_fused_call)
{
	const struct row *row = &rows[_i];
	cudnnBackendDescriptor_t configs[8], plan;
	size_t bytes;
	void *want;
	int count;

	setup(row, false);
	bytes = s.y.count * stored_bytes(s.y.type);
	want = device_new(bytes);
	compute_reference(want);
	count = ask(fused_graph(row, CUDNN_DATA_FLOAT, true), CUDNN_HEUR_MODE_A, 2, configs);
	ROW_EQ_INT(row->name, count, 2);
	/* The first is refused. */
	plan = plan_begin(configs[0]);
	ROW_EQ_INT(row->name, cu.cudnnBackendFinalize(plan), CUDNN_STATUS_NOT_SUPPORTED_SHAPE);
	plan = plan_begin(configs[1]);
	OK(cu.cudnnBackendFinalize(plan));
	OK(cu.cudaMemsetAsync(s.y.memory, 0xff, bytes, s.stream));
	OK(cu.cudnnBackendExecute(s.handle, plan, pack_new(4, s.x.memory, s.workspace)));
	OK(cu.cudaStreamSynchronize(s.stream));
	ck_assert_msg(memcmp(s.y.memory, want, bytes) == 0, "%s", row->name);
	free_parts();
	OK(cu.cudaFree(want));
	teardown();
}
END_TEST

/* --- graphs that no engine computes */

static const struct unsupported {
	const char *name;
	cudnnDataType_t sums;
	bool is_virtual;
	int count;
} unsupporteds[] = {
	{"float32 sums without memory", CUDNN_DATA_FLOAT, true, 1},
	{"sums that are halves", CUDNN_DATA_BFLOAT16, true, 0},
	{"sums in memory", CUDNN_DATA_FLOAT, false, 0},
};

START_TEST(some_graphs_have_no_engine)
{
	const struct unsupported *row = &unsupporteds[_i];
	cudnnBackendDescriptor_t graph, config;

	setup(&rows[0], false);
	graph = fused_graph(&rows[0], row->sums, row->is_virtual);
	ROW_EQ_INT(row->name, ask(graph, CUDNN_HEUR_MODE_A, 1, &config), row->count);
	free_parts();
	teardown();
}
END_TEST

/* --- what is refused */

static cudnnStatus_t unknown_attribute(void)
{
	const cudnnDataType_t type = CUDNN_DATA_FLOAT;

	return cu.cudnnBackendSetAttribute(create(CUDNN_BACKEND_TENSOR_DESCRIPTOR),
					   CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
					   1, &type);
}

static cudnnStatus_t set_id(cudnnBackendDescriptor_t tensor, cudnnBackendAttributeType_t type,
			    int64_t count)
{
	const int64_t ids[] = {1, 2};

	return cu.cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, type, count, ids);
}

static cudnnStatus_t wrong_type(void)
{
	return set_id(create(CUDNN_BACKEND_TENSOR_DESCRIPTOR), CUDNN_TYPE_FLOAT, 1);
}

static cudnnStatus_t wrong_count(void)
{
	return set_id(create(CUDNN_BACKEND_TENSOR_DESCRIPTOR), CUDNN_TYPE_INT64, 2);
}

static cudnnStatus_t no_descriptor(void)
{
	return set_id(NULL, CUDNN_TYPE_INT64, 1);
}

static cudnnStatus_t set_after_finalize(void)
{
	return set_id(tensor_new(X, CUDNN_DATA_FLOAT, &s.x, false), CUDNN_TYPE_INT64, 1);
}

static cudnnStatus_t finalized_twice(void)
{
	return cu.cudnnBackendFinalize(tensor_new(X, CUDNN_DATA_FLOAT, &s.x, false));
}

static cudnnStatus_t empty_tensor(void)
{
	return cu.cudnnBackendFinalize(create(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
}

static cudnnStatus_t empty_graph(void)
{
	return cu.cudnnBackendFinalize(create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
}

static cudnnStatus_t empty_plan(void)
{
	return cu.cudnnBackendFinalize(create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
}

static cudnnStatus_t tensor_not_finalized(void)
{
	cudnnBackendDescriptor_t x = tensor_begin(X, rows[0].type, &s.x, false);
	cudnnBackendDescriptor_t w = tensor_new(W, rows[0].type, &s.w, false);
	cudnnBackendDescriptor_t y = tensor_new(Y, rows[0].type, &s.y, false);

	return cu.cudnnBackendFinalize(forward_begin(&rows[0], x, w, y));
}

static cudnnStatus_t wrong_height(void)
{
	struct data low = s.y;
	cudnnBackendDescriptor_t x = tensor_new(X, rows[0].type, &s.x, false);
	cudnnBackendDescriptor_t w = tensor_new(W, rows[0].type, &s.w, false);

	low.h--;
	return cu.cudnnBackendFinalize(
		forward_begin(&rows[0], x, w, tensor_new(Y, rows[0].type, &low, false)));
}

static cudnnStatus_t operation_not_finalized(void)
{
	cudnnBackendDescriptor_t x = tensor_new(X, rows[0].type, &s.x, false);
	cudnnBackendDescriptor_t w = tensor_new(W, rows[0].type, &s.w, false);
	cudnnBackendDescriptor_t y = tensor_new(Y, rows[0].type, &s.y, false);
	cudnnBackendDescriptor_t forward = forward_begin(&rows[0], x, w, y);

	return cu.cudnnBackendSetAttribute(create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR),
					   CUDNN_ATTR_OPERATIONGRAPH_OPS,
					   CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &forward);
}

static cudnnStatus_t read_too_early(void)
{
	int64_t bytes, count;

	return cu.cudnnBackendGetAttribute(create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR),
					   CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
					   CUDNN_TYPE_INT64, 1, &count, &bytes);
}

static cudnnStatus_t counts_differ(void)
{
	const int64_t ids[] = {X, W, Y};
	void *const addresses[] = {s.x.memory, s.w.memory}, *const none = NULL;
	cudnnBackendDescriptor_t pack = create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);

	set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, ids);
	set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 2, addresses);
	set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &none);
	return cu.cudnnBackendFinalize(pack);
}

static cudnnBackendDescriptor_t good_plan(void)
{
	cudnnBackendDescriptor_t configs[2], plan;

	ask(fused_graph(&rows[0], CUDNN_DATA_FLOAT, true), CUDNN_HEUR_MODE_A, 2, configs);
	plan = plan_begin(configs[1]);
	OK(cu.cudnnBackendFinalize(plan));
	return plan;
}

static cudnnStatus_t no_bias_address(void)
{
	return cu.cudnnBackendExecute(s.handle, good_plan(), pack_new(3, s.x.memory, s.workspace));
}

static cudnnStatus_t no_workspace(void)
{
	return cu.cudnnBackendExecute(s.handle, good_plan(), pack_new(4, s.x.memory, NULL));
}

static cudnnStatus_t misaligned(void)
{
	return cu.cudnnBackendExecute(s.handle, good_plan(),
				      pack_new(4, (char *)s.x.memory + 2, s.workspace));
}

static cudnnStatus_t short_workspace(void)
{
	return cu.cudnnBackendExecute(
		s.handle, good_plan(),
		pack_new(4, s.x.memory, (char *)s.workspace + WORKSPACE - 16));
}

static cudnnStatus_t pack_as_plan(void)
{
	cudnnBackendDescriptor_t pack = pack_new(4, s.x.memory, s.workspace);

	return cu.cudnnBackendExecute(s.handle, pack, pack);
}

static const struct refusal {
	const char *name;
	cudnnStatus_t (*refused)(void);
	cudnnStatus_t status;
	const char *fault;
} refusals[] = {
	{"unknown attribute", unknown_attribute, CUDNN_STATUS_BAD_PARAM, ""},
	{"wrong type", wrong_type, CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, ""},
	{"wrong count", wrong_count, CUDNN_STATUS_BAD_PARAM, ""},
	{"no descriptor", no_descriptor, CUDNN_STATUS_BAD_PARAM_NULL_POINTER, ""},
	{"set when finalized", set_after_finalize, CUDNN_STATUS_BAD_PARAM, ""},
	{"finalized twice", finalized_twice, CUDNN_STATUS_BAD_PARAM, ""},
	{"empty tensor", empty_tensor, CUDNN_STATUS_BAD_PARAM, ""},
	{"empty graph", empty_graph, CUDNN_STATUS_BAD_PARAM, ""},
	{"empty plan", empty_plan, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, ""},
	{"tensor not finalized", tensor_not_finalized, CUDNN_STATUS_BAD_PARAM, ""},
	{"height", wrong_height, CUDNN_STATUS_BAD_PARAM, ""},
	{"operation not finalized", operation_not_finalized, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
	 ""},
	{"read too early", read_too_early, CUDNN_STATUS_NOT_INITIALIZED, ""},
	{"counts differ", counts_differ, CUDNN_STATUS_BAD_PARAM, ""},
	{"no address", no_bias_address, CUDNN_STATUS_BAD_PARAM, ""},
	{"no workspace", no_workspace, CUDNN_STATUS_BAD_PARAM, ""},
	{"misaligned", misaligned, CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
	 "is not a multiple of 16"},
	{"short workspace", short_workspace, CUDNN_STATUS_EXECUTION_FAILED, "131 bytes at byte"},
	{"a pack for a plan", pack_as_plan, CUDNN_STATUS_BAD_PARAM, "is not of type"},
};

START_TEST(what_is_illegal_is_refused)
{
	const struct refusal *row = &refusals[_i];

	setup(&rows[0], false);
	ROW_EQ_INT(row->name, row->refused(), row->status);
	ck_assert_msg(strstr(fake_cuda_fault(), row->fault) && (*row->fault || !*fake_cuda_fault()),
		      "%s: '%s'", row->name, fake_cuda_fault());
	fake_cuda_forgive();
	free_parts();
	teardown();
}
END_TEST

START_TEST(leaks_are_found)
{
	cudnnBackendDescriptor_t descriptor;
	char text[FAKE_CUDA_TEXT];

	machine_open(1, false);
	OK(cu.cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &descriptor));
	ck_assert(!fake_cuda_close(text));
	ck_assert_msg(strstr(text, "a backend descriptor of device 0 was not destroyed"), "%s",
		      text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fake_cudnn_graph");
	TCase *tcase = tcase_create("graph");

	tcase_add_loop_test(tcase, a_graph_is_the_fused_call, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_loop_test(tcase, some_graphs_have_no_engine, 0,
			    sizeof(unsupporteds) / sizeof(*unsupporteds));
	tcase_add_loop_test(tcase, what_is_illegal_is_refused, 0,
			    sizeof(refusals) / sizeof(*refusals));
	tcase_add_test(tcase, leaks_are_found);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
