/* SPDX-License-Identifier: MIT */
/*
 * The graphs and attributes of cuda/convolution_engines.c before the real cuDNN, without a GPU.
 * From 9.11 on its heuristics and its plans take a description of a GPU in place of a handle, and
 * here the handle's attributes are replaced by one. Skipped where there is no such cuDNN.
 */
#include "config.h"

#include <string.h>

#include "backend/cuda/convolution.h"
#include "unit.h"

#if CUDNN_VERSION >= 91100

static struct cuda_calls real;
static cudnnBackendDescriptor_t gpu;

/* The names are those with which cuDNN writes the properties of a GPU. */
static bool describe_gpu(int compute, int multiprocessors)
{
	char text[1000];

	snprintf(text, sizeof(text),
		 "{\"deviceVer\":%d,\"multiProcessorCount\":%d,\"warpSize\":32,"
		 "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":%d,"
		 "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"
		 "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,"
		 "\"regsPerBlock\":65536,\"totalGlobalMem\":80000000000,"
		 "\"smClockRateKHz\":1700000,\"l2CacheSize\":50000000,"
		 "\"maxBlockSize\":[1024,1024,64],\"memClockRateKHz\":2600000,"
		 "\"maxGridSize\":[2147483647,65535,65535],\"supportCoopLaunch\":1,"
		 "\"pciDeviceId\":0,\"isTccDriver\":0,\"cudaDeviceId\":0,\"driverVer\":%d,"
		 "\"deviceName\":\"a described GPU\"}",
		 compute, multiprocessors, compute == 800 ? 166912 : 232448, CUDART_VERSION);
	if (gpu)
		real.cudnnBackendDestroyDescriptor(gpu);
	gpu = NULL;
	return real.cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &gpu) ==
		       CUDNN_STATUS_SUCCESS &&
	       real.cudnnBackendSetAttribute(gpu, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
					     CUDNN_TYPE_CHAR, (int64_t)strlen(text) + 1,
					     text) == CUDNN_STATUS_SUCCESS &&
	       real.cudnnBackendFinalize(gpu) == CUDNN_STATUS_SUCCESS;
}

/* A description in place of a handle. What is refused is a mistake of the code. */
static cudnnStatus_t set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
			 cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
	cudnnStatus_t status;

	if (name == CUDNN_ATTR_OPERATIONGRAPH_HANDLE)
		return CUDNN_STATUS_SUCCESS;
	if (name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE)
		return real.cudnnBackendSetAttribute(descriptor,
						     CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
						     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &gpu);
	status = real.cudnnBackendSetAttribute(descriptor, name, type, count, values);
	ck_assert_msg(status == CUDNN_STATUS_SUCCESS, "attribute %d: %d", (int)name, (int)status);
	if (name == CUDNN_ATTR_ENGINEHEUR_MODE)
		return real.cudnnBackendSetAttribute(descriptor, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
						     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &gpu);
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t get(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
			 cudnnBackendAttributeType_t type, int64_t wanted, int64_t *count,
			 void *values)
{
	cudnnStatus_t status =
		real.cudnnBackendGetAttribute(descriptor, name, type, wanted, count, values);

	ck_assert_msg(status == CUDNN_STATUS_SUCCESS, "attribute %d: %d", (int)name, (int)status);
	return status;
}

/* --- */

struct gpu {
	const char *name;
	int compute, multiprocessors;
};

static const struct gpu gpus[] = {
	{"A100", 800, 108},
	{"H100", 900, 132},
	{"B200", 1000, 148},
};

/* The convolutions of convnet, and one that is padded on both sides. */
static const struct row {
	const char *name;
	enum value_type type;
	bool exact, deterministic, no_relu;
	int batch, channels, side, out, kernel, stride;
} rows[] = {
	{"conv1", VALUE_BFLOAT16, false, false, false, 512, 3, 32, 64, 3, 1},
	{"conv2", VALUE_BFLOAT16, false, false, false, 512, 64, 16, 128, 3, 1},
	{"conv2 of few samples", VALUE_BFLOAT16, false, false, false, 32, 64, 16, 128, 3, 1},
	{"conv2 that repeats itself", VALUE_BFLOAT16, false, true, false, 512, 64, 16, 128, 3, 1},
	{"fp16", VALUE_FLOAT16, false, false, false, 128, 64, 16, 64, 3, 1},
	{"TF32", VALUE_FLOAT32, false, false, false, 128, 64, 16, 64, 3, 1},
	{"plain floats", VALUE_FLOAT32, true, false, false, 128, 64, 16, 64, 3, 1},
	{"no ReLU, padded", VALUE_BFLOAT16, false, false, true, 16, 5, 9, 11, 5, 1},
	{"strides", VALUE_BFLOAT16, false, false, true, 128, 64, 16, 128, 3, 2},
};

enum { GPUS = sizeof(gpus) / sizeof(*gpus), ROWS = sizeof(rows) / sizeof(*rows) };

static void describe(struct cuda_convolution *c, struct cuda_device *d, const struct row *row)
{
	struct layout in = layout_host(row->type, row->batch, row->channels, row->side, row->side);
	int pad = row->kernel / 2, size = (row->side + 2 * pad - row->kernel) / row->stride + 1;
	struct op_info *info = &c->base.base.info;

	c->base.base.device = &d->base;
	info->input = cuda_nhwc(&in, row->channels, row->side, row->side, &c->base.input_order);
	info->output = cuda_nhwc(&in, row->out, size, size, &c->base.output_order);
	c->base.host = (struct cuda_filter){row->out, row->channels, row->kernel, row->kernel};
	c->in_padded = c->base.input_order.padded;
	c->out_padded = c->base.output_order.padded;
	c->base.base.shape.relu = !row->no_relu;
	c->base.base.shape.pad = pad;
	c->base.base.shape.stride = row->stride;
}

START_TEST(cudnn_has_engines)
{
	const struct row *row = &rows[_i % ROWS];
	const struct gpu *g = &gpus[_i / ROWS];
	struct cuda_calls calls = real;
	struct cuda_device d = {
		.calls = &calls, .exact = row->exact, .deterministic = row->deterministic};
	struct cuda_convolution c = {.out_padded = 0};
	struct train_error error = {.status = TRAIN_OK};
	struct cuda_graph *graph;

	calls.cudnnBackendSetAttribute = set;
	calls.cudnnBackendGetAttribute = get;
	ck_assert(describe_gpu(g->compute, g->multiprocessors));
	describe(&c, &d, row);
	for (int direction = 0; direction < CUDA_DIRECTIONS; direction++) {
		ck_assert_msg(cuda_graph_plan(&c, direction, row->type, false, &graph, &error),
			      "%s, %s: %s", g->name, row->name, error.text);
		ck_assert_msg(graph->count > (row->exact ? 0 : 2), "%s, %s: direction %d: %d",
			      g->name, row->name, direction, graph->count);
		ck_assert(cuda_way_is_engine(&graph->engines[0].way));
		cuda_graph_free(&d, graph);
	}
	/* In 9.19 each engine that writes float32 from halves is compiled at run time. */
	ck_assert_msg(cuda_graph_plan(&c, CUDA_WEIGHTS, VALUE_FLOAT32, false, &graph, &error), "%s",
		      error.text);
	cuda_graph_free(&d, graph);
}
END_TEST

int main(void)
{
	struct train_error error = {.status = TRAIN_OK};
	Suite *suite;
	TCase *tests;

	if (SANITIZED)
		return unit_skip("cuDNN itself does not free what cuBLASLt allocates for it");
	if (!cuda_calls_load(&real, CUDA_LIBRARY_CUDNN, &error))
		return unit_skip("there is no cuDNN");
	if (real.cudnnGetVersion() < 91100 || !describe_gpu(900, 132))
		return unit_skip("this cuDNN takes no description of a GPU");
	suite = suite_create("cuda-heuristics");
	tests = tcase_create("engines");
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, cudnn_has_engines, 0, GPUS * ROWS);
	return unit_run(suite);
}

#else

int main(void)
{
	return unit_skip("this build's cuDNN takes no description of a GPU");
}

#endif
