/* SPDX-License-Identifier: MIT */
/* Engines of cuDNN's graph API on a simulated GPU: which are candidates (fake_cudnn_engines.c has
 * them), how they run, and what happens if a call fails. */
#include "config.h"

#include "backend/cuda/convolution.h"
#include "cuda-test.h"
#include "inject.h"

enum { OUT = 16, SIDE = 6, BATCH = 2, CHANNELS = 8 };

static struct device *opened(int gpu, bool exact, bool deterministic)
{
	const struct device_options options = {
		.logical = gpu, .physical = gpu, .exact = exact, .deterministic = deterministic};
	struct train_error error = {.status = TRAIN_OK};
	struct device *device;

	ck_assert_msg(backend_cuda.open(&device, &options, &error), "%s", error.text);
	return device;
}

static struct cuda_calls *own_calls(struct device *device)
{
	static struct cuda_calls calls;
	struct cuda_device *d = (struct cuda_device *)device;

	calls = *d->calls;
	d->calls = &calls;
	return &calls;
}

static bool plan(struct op **op, struct device *device, int batch, enum value_type type, int kernel,
		 int stride, struct train_error *error)
{
	const struct op_shape shape = {
		.input = layout_host(type, batch, CHANNELS, SIDE, SIDE),
		.out = OUT,
		.kernel = kernel,
		.pad = kernel / 2,
		.stride = stride,
		.relu = true,
	};

	return backend_cuda.convolution(op, device, &shape, error);
}

static struct op *convolution(struct device *device, enum value_type type, int kernel, int stride)
{
	struct train_error error = {.status = TRAIN_OK};
	struct op *op = NULL;

	ck_assert_msg(plan(&op, device, BATCH, type, kernel, stride, &error), "%s", error.text);
	return op;
}

static const struct cuda_algorithm *algorithm_of(const struct op *op, enum cuda_direction direction)
{
	return &((const struct cuda_convolution *)op)->algorithms[direction];
}

/* --- candidates */

static const struct listed {
	const char *name;
	enum cuda_direction direction;
	enum value_type type, filter_type;
	bool exact, deterministic, compiled;
	int kernel, stride;
	const char *engines; /* each number, with its knob's value if it has one */
} lists[] = {
	{"forward", CUDA_FORWARD, VALUE_BFLOAT16, VALUE_BFLOAT16, false, false, false, 3, 1,
	 "41:2 41:3 10 14 0"},
	{"forward of 5x5", CUDA_FORWARD, VALUE_FLOAT16, VALUE_FLOAT16, false, false, false, 5, 1,
	 "41:2 10 14 0"},
	{"TF32", CUDA_FORWARD, VALUE_FLOAT32, VALUE_FLOAT32, false, false, false, 3, 1,
	 "41:2 41:3 10 14 20 0"},
	{"plain floats", CUDA_FORWARD, VALUE_FLOAT32, VALUE_FLOAT32, true, false, false, 3, 1, "0"},
	{"halves are never plain", CUDA_FORWARD, VALUE_BFLOAT16, VALUE_BFLOAT16, true, false, false,
	 5, 1, "41:2 10 14 0"},
	{"none without compiling", CUDA_FORWARD, VALUE_BFLOAT16, VALUE_BFLOAT16, false, false,
	 false, 3, 2, ""},
	{"one is compiled", CUDA_FORWARD, VALUE_BFLOAT16, VALUE_BFLOAT16, false, false, true, 3, 2,
	 "12"},
	{"data", CUDA_DATA, VALUE_BFLOAT16, VALUE_BFLOAT16, false, false, false, 3, 1, "67:-1 0"},
	{"weights", CUDA_WEIGHTS, VALUE_BFLOAT16, VALUE_BFLOAT16, false, false, false, 3, 1,
	 "65:5 65:3 1"},
	{"weights that repeat themselves", CUDA_WEIGHTS, VALUE_BFLOAT16, VALUE_BFLOAT16, false,
	 true, false, 3, 1, "65:5 1"},
	{"weights in float32", CUDA_WEIGHTS, VALUE_BFLOAT16, VALUE_FLOAT32, false, false, false, 5,
	 1, "70"},
	{"no weights in float32", CUDA_WEIGHTS, VALUE_BFLOAT16, VALUE_FLOAT32, false, false, false,
	 3, 1, ""},
	{"weights in float32, compiled", CUDA_WEIGHTS, VALUE_FLOAT16, VALUE_FLOAT32, false, false,
	 true, 3, 1, "71"},
	{"weights of floats", CUDA_WEIGHTS, VALUE_FLOAT32, VALUE_FLOAT32, false, false, false, 5, 1,
	 "65:5 1"},
};

static void write_engines(const struct cuda_graph *graph, char *text, size_t size)
{
	size_t at = 0;

	text[0] = '\0';
	for (int i = 0; i < graph->count; i++) {
		const struct cuda_way *way = &graph->engines[i].way;
		int32_t value = (int32_t)((uint32_t)way->words[1] << 8) / 256;

		ck_assert(cuda_way_is_engine(way));
		ck_assert_int_eq(cuda_way_filter_type(way), graph->filter_type);
		at += (size_t)snprintf(text + at, size - at, "%s%d", at ? " " : "",
				       cuda_way_number(way));
		if (way->words[1])
			at += (size_t)snprintf(text + at, size - at, ":%d", (int)value);
	}
}

START_TEST(engines_are_listed)
{
	const struct listed *row = &lists[_i];
	struct train_error error = {.status = TRAIN_OK};
	struct device *device;
	struct cuda_graph *graph;
	struct op *op;
	char text[200];

	cuda_test_begin();
	device = opened(0, row->exact, row->deterministic);
	op = convolution(device, row->type, row->kernel, row->stride);
	ck_assert_msg(cuda_graph_plan((struct cuda_convolution *)op, row->direction,
				      row->filter_type, row->compiled, &graph, &error),
		      "%s: %s", row->name, error.text);
	write_engines(graph, text, sizeof(text));
	ROW_EQ_STR(row->name, text, row->engines);
	cuda_graph_free((struct cuda_device *)device, graph);
	cuda_graph_free((struct cuda_device *)device, NULL);
	op_free(op);
	backend_cuda.close(device);
	cuda_test_end(row->name);
}
END_TEST

/* Engines with the same number differ by their knobs: all replicas run with those of the first. */
START_TEST(replicas_take_the_same_knobs)
{
	struct device *devices[3];
	struct op *ops[3];

	cuda_test_begin();
	for (int i = 0; i < 3; i++) {
		devices[i] = opened(i, false, false);
		ops[i] = convolution(devices[i], VALUE_BFLOAT16, 3, 1);
	}
	for (int i = 0; i < 3; i++) {
		const struct cuda_algorithm *first = algorithm_of(ops[0], CUDA_FORWARD);
		const struct cuda_algorithm *a = algorithm_of(ops[i], CUDA_FORWARD);

		ck_assert_int_eq(a->number, 41);
		ck_assert_uint_eq(a->engine->way.words[1] & 0xffffff, 3);
		ck_assert_mem_eq(a->engine->way.words, first->engine->way.words,
				 sizeof(first->engine->way.words));
		ck_assert_uint_eq(a->workspace, 512);
	}
	for (int i = 0; i < 3; i++) {
		op_free(ops[i]);
		backend_cuda.close(devices[i]);
	}
	cuda_test_end("replicas");
}
END_TEST

/* --- runs */

static void run_forward(struct device *device, struct op *op, void *input, void *output)
{
	const struct op_args args = {.input = input, .output = output};
	struct train_error error = {.status = TRAIN_OK};

	ck_assert_msg(op->calls->forward(op, &args, &error), "%s", error.text);
	ck_assert_msg(backend_cuda.finish(device, &error), "%s", error.text);
}

/* The addresses of a model are always the same, so a run makes nothing. */
START_TEST(a_run_makes_nothing_twice)
{
	struct train_error error = {.status = TRAIN_OK};
	struct device *device;
	struct op *op;
	void *input, *outputs[2];
	uint64_t made;

	cuda_test_begin();
	device = opened(0, false, false);
	op = convolution(device, VALUE_BFLOAT16, 3, 1);
	input = cuda_allocate_zeros(device, op->info.input.bytes, "input", &error);
	for (int i = 0; i < 2; i++)
		outputs[i] = cuda_allocate_zeros(device, op->info.output.bytes, "output", &error);
	run_forward(device, op, input, outputs[0]);
	made = fake_cuda_made(CUDA_CALL_cudnnBackendCreateDescriptor);
	for (int i = 0; i < 3; i++)
		run_forward(device, op, input, outputs[0]);
	ck_assert_uint_eq(fake_cuda_made(CUDA_CALL_cudnnBackendCreateDescriptor), made);
	run_forward(device, op, input, outputs[1]);
	ck_assert_uint_eq(fake_cuda_made(CUDA_CALL_cudnnBackendCreateDescriptor), made + 1);
	for (int i = 0; i < 2; i++)
		backend_cuda.release(device, outputs[i]);
	backend_cuda.release(device, input);
	op_free(op);
	backend_cuda.close(device);
	cuda_test_end("runs");
}
END_TEST

/* The gradient of a filter has the type that the engine writes. */
static const struct gradient {
	const char *name;
	enum value_type type;
	int kernel;
	bool deterministic;
	enum value_type gradient_type;
} gradients[] = {
	{"the values' type", VALUE_BFLOAT16, 3, false, VALUE_BFLOAT16},
	{"float32", VALUE_BFLOAT16, 5, false, VALUE_FLOAT32},
	{"float32 of float16", VALUE_FLOAT16, 5, false, VALUE_FLOAT32},
	{"deterministic", VALUE_BFLOAT16, 5, true, VALUE_BFLOAT16},
	{"float32 of float32", VALUE_FLOAT32, 5, false, VALUE_FLOAT32},
};

START_TEST(gradients_have_the_engines_type)
{
	const struct gradient *row = &gradients[_i];
	struct device *device;
	struct op *op;

	cuda_test_begin();
	device = opened(0, false, row->deterministic);
	op = convolution(device, row->type, row->kernel, 1);
	ROW_EQ_INT(row->name, ((const struct cuda_convolution *)op)->filter_gradient_type,
		   row->gradient_type);
	op_free(op);
	backend_cuda.close(device);
	cuda_test_end(row->name);
}
END_TEST

/* --- what cuDNN answers */

static cudnnStatus_t lacks_create(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *made)
{
	return CUDNN_STATUS_NOT_SUPPORTED;
}

static cudnnStatus_t lacks_set(cudnnBackendDescriptor_t descriptor,
			       cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
			       int64_t count, const void *values)
{
	return CUDNN_STATUS_BAD_PARAM;
}

static cudnnStatus_t lacks_get(cudnnBackendDescriptor_t descriptor,
			       cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
			       int64_t wanted, int64_t *count, void *values)
{
	return CUDNN_STATUS_NOT_SUPPORTED;
}

static cudnnStatus_t lacks_finalize(cudnnBackendDescriptor_t descriptor)
{
	return CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN;
}

static cudnnStatus_t fails_to_finalize(cudnnBackendDescriptor_t descriptor)
{
	return CUDNN_STATUS_INTERNAL_ERROR;
}

static cudnnStatus_t fails_to_get(cudnnBackendDescriptor_t descriptor,
				  cudnnBackendAttributeName_t name,
				  cudnnBackendAttributeType_t type, int64_t wanted, int64_t *count,
				  void *values)
{
	return CUDNN_STATUS_EXECUTION_FAILED;
}

static cudaError_t no_answer(cudaStream_t stream)
{
	return cudaErrorIllegalAddress;
}

static cudnnStatus_t lacks_execute(cudnnHandle_t handle, cudnnBackendDescriptor_t made,
				   cudnnBackendDescriptor_t pack)
{
	return CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH;
}

static cudnnStatus_t lacks_workspace(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
				     cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t how,
				     cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t algorithm,
				     size_t *bytes)
{
	return CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
}

static void lack(struct cuda_calls *calls, int which)
{
	if (which == 0)
		calls->cudnnBackendCreateDescriptor = lacks_create;
	if (which == 1)
		calls->cudnnBackendSetAttribute = lacks_set;
	if (which == 2)
		calls->cudnnBackendGetAttribute = lacks_get;
	if (which == 3)
		calls->cudnnBackendFinalize = lacks_finalize;
	if (which == 4)
		calls->cudnnBackendExecute = lacks_execute;
	if (which == 5)
		calls->cudnnGetConvolutionForwardWorkspaceSize = lacks_workspace;
	if (which == 6)
		calls->cudnnBackendFinalize = fails_to_finalize;
	if (which == 7)
		calls->cudnnBackendGetAttribute = fails_to_get;
}

/* Without engines the calls are left, and without calls the engines. */
static const struct lacking {
	const char *name, *algorithm;
	int which;    /* of lack() */
	size_t bytes; /* of the device, or 0 */
} lackings[] = {
	{"no descriptors", "cuDNN: unfused Winograd, weights tiled FFT, data Winograd", 0, 0},
	{"no attributes", "cuDNN: unfused Winograd, weights tiled FFT, data Winograd", 1, 0},
	{"nothing to read", "cuDNN: unfused Winograd, weights tiled FFT, data Winograd", 2, 0},
	{"no such graphs", "cuDNN: unfused Winograd, weights tiled FFT, data Winograd", 3, 0},
	{"plans that do not run", "cuDNN: unfused Winograd, weights tiled FFT, data Winograd", 4,
	 0},
	{"no fused call", "cuDNN: engine 41, weights engine 65, data Winograd", 5, 0},
	{"no fused call, no memory", "cuDNN: engine 41, weights 1, data 1", 5, 8 << 10},
	{"graphs that fail inside", "cuDNN: unfused Winograd, weights tiled FFT, data Winograd", 6,
	 0},
	{"engines that fail to answer", "cuDNN: unfused Winograd, weights tiled FFT, data Winograd",
	 7, 0},
};

START_TEST(what_cudnn_lacks_is_no_error)
{
	const struct lacking *row = &lackings[_i];
	struct device *device;
	struct op *op;

	fake_cuda_open(&(struct fake_cuda_options){
		.devices = 1, .bytes = row->bytes, .simulated_time = true});
	device = opened(0, false, false);
	lack(own_calls(device), row->which);
	op = convolution(device, VALUE_BFLOAT16, 3, 1);
	ROW_EQ_STR(row->name, op->info.algorithm, row->algorithm);
	op_free(op);
	backend_cuda.close(device);
	cuda_test_end(row->name);
}
END_TEST

/* Plans and frees a convolution on a new machine, whose n-th call of cuDNN fails. Returns how many
 * calls were made. */
static uint64_t whole(bool deterministic, uint64_t n, bool *done, struct train_error *error)
{
	static int batch = 1; /* another for each run, because choices are remembered */
	struct device *device;
	uint64_t calls;
	struct op *op;

	cuda_test_begin();
	device = opened(0, false, deterministic);
	inject_wrap(own_calls(device), CUDA_LIBRARY_CUDNN);
	inject_at(n, false);
	*done = plan(&op, device, batch, VALUE_BFLOAT16, 5, 1, error);
	batch += !deterministic;
	if (*done)
		op_free(op);
	calls = inject_count();
	ck_assert_uint_eq(device->bytes, device->shared_bytes);
	backend_cuda.close(device);
	cuda_test_end(n ? cuda_call_name(inject_failed()) : "all calls");
	return calls;
}

/* What fails on a device that no longer answers is an error. */
START_TEST(a_device_that_failed_is_an_error)
{
	struct train_error error = {.status = TRAIN_OK};
	struct device *device;
	struct op *op;

	cuda_test_begin();
	device = opened(0, false, false);
	own_calls(device)->cudnnBackendFinalize = fails_to_finalize;
	own_calls(device)->cudaStreamQuery = no_answer;
	ck_assert(!plan(&op, device, 4, VALUE_BFLOAT16, 3, 1, &error));
	ck_assert_msg(
		strstr(error.text, ": cudnnBackendFinalize: CUDNN_STATUS_INTERNAL_ERROR (4000)"),
		"%s", error.text);
	backend_cuda.close(device);
	cuda_test_end("a device that failed");
}
END_TEST

/* Whichever call fails once, the planning goes on without what it was for, or ends with a message
 * that names it, and nothing is left. Each call fails once without
 * measurement (with sanitizers every 7th), and every 67th with it. */
START_TEST(each_call_may_fail)
{
	struct train_error error = {.status = TRAIN_OK};
	uint64_t failed = 0, step = !_i ? 67 : SANITIZED ? 7 : 1, calls;
	bool done;

	calls = whole(_i, 0, &done, &error);
	ck_assert(done);
	ck_assert_uint_gt(calls, 200);
	for (uint64_t n = 1; n <= calls; n += step) {
		const char *name;

		error = (struct train_error){.status = TRAIN_OK};
		whole(_i, n, &done, &error);
		name = cuda_call_name(inject_failed());
		failed += strncmp(name, "cudnnBackend", 12) == 0;
		ck_assert_msg(done ? error.status == TRAIN_OK : strstr(error.text, name) != NULL,
			      "call %d, %s: '%s'", (int)n, name, error.text);
	}
	ck_assert_uint_gt(failed, calls / step / 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cuda-engines");
	TCase *tests = tcase_create("engines");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, engines_are_listed, 0, sizeof(lists) / sizeof(*lists));
	tcase_add_test(tests, replicas_take_the_same_knobs);
	tcase_add_test(tests, a_run_makes_nothing_twice);
	tcase_add_loop_test(tests, gradients_have_the_engines_type, 0,
			    sizeof(gradients) / sizeof(*gradients));
	tcase_add_test(tests, a_device_that_failed_is_an_error);
	tcase_add_loop_test(tests, what_cudnn_lacks_is_no_error, 0,
			    sizeof(lackings) / sizeof(*lackings));
	tcase_add_loop_test(tests, each_call_may_fail, 0, 2);
	return unit_run(suite);
}
