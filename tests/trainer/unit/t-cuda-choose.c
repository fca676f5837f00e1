/* SPDX-License-Identifier: MIT */
/* The algorithms that a simulated GPU takes (fake_cudnn_algorithms.c has the list), and writes
 * through pinned memory. */
#include "config.h"

#include "backend/cuda/cuda.h"
#include "cuda-test.h"

enum { OUT = 16, SIDE = 6, BATCH = 2 };

static struct device *opened(int gpu, bool exact, bool deterministic)
{
	const struct device_options options = {
		.logical = gpu, .physical = gpu, .exact = exact, .deterministic = deterministic};
	struct train_error error = {.status = TRAIN_OK};
	struct device *device;

	ck_assert_msg(backend_cuda.open(&device, &options, &error), "%s", error.text);
	return device;
}

/* --- convolutions */

struct row {
	const char *name;
	enum value_type type;
	bool exact, deterministic, no_relu, no_backward_data;
	int kernel, stride;
	const char *algorithm;
};

static const struct row rows[] = {
	{"the fastest", VALUE_BFLOAT16, false, false, false, false, 3, 1,
	 "cuDNN: engine 41, weights engine 65, data Winograd"},
	{"the fastest of 5x5", VALUE_BFLOAT16, false, false, false, false, 5, 1,
	 "cuDNN: engine 41, weights engine 70 in fp32, data engine 67"},
	{"those that repeat themselves", VALUE_BFLOAT16, false, true, false, false, 3, 1,
	 "cuDNN: implicit precomputed product, weights 1, data 1"},
	{"of 5x5", VALUE_FLOAT16, false, true, false, false, 5, 1,
	 "cuDNN: implicit precomputed product, weights 1, data 1"},
	{"no ReLU", VALUE_BFLOAT16, false, false, true, false, 3, 1,
	 "cuDNN: engine 41, weights engine 65, data Winograd"},
	{"no gradient of data", VALUE_BFLOAT16, false, false, false, true, 3, 1,
	 "cuDNN: engine 41, weights engine 65"},
	{"TF32, not halves", VALUE_FLOAT32, false, false, false, false, 3, 1,
	 "cuDNN: engine 20, weights engine 65, data Winograd"},
	{"plain floats", VALUE_FLOAT32, true, false, false, false, 3, 1,
	 "cuDNN: implicit product, weights engine 1, data 0"},
	{"plain floats that repeat", VALUE_FLOAT32, true, true, false, false, 3, 1,
	 "cuDNN: implicit precomputed product, weights 1, data 1"},
	/* Engines that are compiled at run time are the fastest, but only one of them is compiled,
	 * and only where there is no other engine. */
	{"compiled", VALUE_FLOAT16, false, false, false, false, 3, 2,
	 "cuDNN: engine 12, weights engine 69, data engine 68"},
};

static struct op *convolution(struct device *device, const struct row *row)
{
	const struct op_shape shape = {
		.input = layout_host(row->type, BATCH, 8, SIDE, SIDE),
		.out = OUT,
		.kernel = row->kernel,
		.pad = row->kernel / 2,
		.stride = row->stride,
		.relu = !row->no_relu,
		.no_backward_data = row->no_backward_data,
	};
	struct train_error error = {.status = TRAIN_OK};
	struct op *op = NULL;

	ck_assert_msg(backend_cuda.convolution(&op, device, &shape, &error), "%s: %s", row->name,
		      error.text);
	return op;
}

START_TEST(algorithms_are_chosen)
{
	const struct row *row = &rows[_i];
	struct device *device;
	struct op *op;
	size_t bytes;

	cuda_test_begin();
	device = opened(0, row->exact, row->deterministic);
	op = convolution(device, row);
	ROW_EQ_STR(row->name, op->info.algorithm, row->algorithm);
	bytes = device->bytes;
	op_free(op);
	/* Nothing of the trials is left: neither their operands nor the largest workspace. */
	ck_assert_msg(device->bytes == device->shared_bytes && bytes < 64 << 10,
		      "%s: %zu of %zu bytes are left", row->name, device->bytes, bytes);
	backend_cuda.close(device);
	cuda_test_end(row->name);
}
END_TEST

/* Replicas take what the first of them took. A deterministic device measures nothing. */
START_TEST(shapes_are_measured_once)
{
	struct row row = rows[0];
	struct device *devices[3];
	struct op *ops[3];
	uint64_t measured[4] = {0};

	cuda_test_begin();
	for (int i = 0; i < 3; i++) {
		devices[i] = opened(i, false, i == 2);
		ops[i] = convolution(devices[i], &row);
		measured[i + 1] = fake_cuda_made(CUDA_CALL_cudaEventElapsedTime);
	}
	ck_assert_uint_gt(measured[1], 0);
	ck_assert_uint_eq(measured[2], measured[1]);
	ck_assert_uint_eq(measured[3], measured[1]);
	ck_assert_str_eq(ops[0]->info.algorithm, ops[1]->info.algorithm);
	/* A device that does not measure takes no memory for it. */
	ck_assert_uint_gt(devices[0]->peak_bytes, devices[0]->bytes);
	ck_assert_uint_eq(devices[1]->peak_bytes, devices[1]->bytes);
	op_free(ops[1]);
	row.kernel = 1;
	ops[1] = convolution(devices[1], &row);
	ck_assert_uint_gt(fake_cuda_made(CUDA_CALL_cudaEventElapsedTime), measured[1]);
	for (int i = 0; i < 3; i++) {
		op_free(ops[i]);
		backend_cuda.close(devices[i]);
	}
	cuda_test_end("shapes");
}
END_TEST

/* If memory is short, the algorithms that fit are tried; if none can be, a fixed one is taken. */
static const struct memory {
	size_t bytes;
	const char *algorithm;
} memories[] = {
	{32 << 10, "cuDNN: engine 41, weights engine 65, data Winograd"},
	{12 << 10, "cuDNN: engine 41, weights engine 65, data engine 67"},
	{10 << 10, "cuDNN: engine 41, weights 1, data engine 67"},
	{8 << 10, "cuDNN: implicit precomputed product, weights 1, data 1"},
};

START_TEST(short_memory_is_no_error)
{
	const struct memory *row = &memories[_i];
	struct device *device;
	struct op *op;

	fake_cuda_open(&(struct fake_cuda_options){
		.devices = 1, .bytes = row->bytes, .simulated_time = true});
	device = opened(0, false, false);
	op = convolution(device, &rows[0]);
	ck_assert_msg(strcmp(op->info.algorithm, row->algorithm) == 0, "%zu bytes: '%s', not '%s'",
		      row->bytes, op->info.algorithm, row->algorithm);
	op_free(op);
	backend_cuda.close(device);
	cuda_test_end("memory");
}
END_TEST

/* --- more workspace */

static const char *const tiled_fft = "cuDNN: tiled FFT,";

static void run_forward(struct device *device, struct op *op)
{
	struct train_error error = {.status = TRAIN_OK};
	struct op_args args = {.scratch = NULL};
	void *input = cuda_allocate_zeros(device, op->info.input.bytes, "input", &error);

	args.input = input;
	args.output = cuda_allocate_zeros(device, op->info.output.bytes, "output", &error);
	ck_assert_msg(op->calls->forward(op, &args, &error), "%s", error.text);
	ck_assert_msg(backend_cuda.finish(device, &error), "%s", error.text);
	backend_cuda.release(device, input);
	backend_cuda.release(device, args.output);
}

/* The fused call for 1x1 needs more workspace than cuDNN reports. A second trial finds that, and a
 * replica, which tries nothing, has it too. */
START_TEST(a_fused_call_gets_more_workspace)
{
	struct row row = rows[0];
	struct device *devices[2];
	struct op *ops[2];

	cuda_test_begin();
	row.kernel = 1;
	for (int i = 0; i < 2; i++) {
		devices[i] = opened(i, false, false);
		ops[i] = convolution(devices[i], &row);
		ck_assert_msg(strncmp(ops[i]->info.algorithm, tiled_fft, strlen(tiled_fft)) == 0,
			      "%s", ops[i]->info.algorithm);
		ck_assert_uint_ge(devices[i]->shared_bytes, 4096 + (32U << 20));
		run_forward(devices[i], ops[i]);
	}
	for (int i = 0; i < 2; i++) {
		op_free(ops[i]);
		backend_cuda.close(devices[i]);
	}
	cuda_test_end("more workspace");
}
END_TEST

START_TEST(too_little_memory_for_more_workspace)
{
	struct row row = rows[0];
	struct device *device;
	struct op *op;

	fake_cuda_open(&(struct fake_cuda_options){
		.devices = 1, .bytes = 16 << 20, .simulated_time = true});
	row.kernel = 1;
	device = opened(0, false, false);
	op = convolution(device, &row);
	ck_assert_msg(strncmp(op->info.algorithm, tiled_fft, strlen(tiled_fft)) != 0, "%s",
		      op->info.algorithm);
	run_forward(device, op);
	op_free(op);
	backend_cuda.close(device);
	cuda_test_end("little memory");
}
END_TEST

/* --- what a library answers */

static int failures, failures_before_end;

static void count_failure(const struct train_error *error)
{
	failures++;
}

/* The calls of the device from now on, for a test to change; failures are counted. */
static struct cuda_calls *own_calls(struct device *device)
{
	static struct cuda_calls calls;
	struct cuda_device *d = (struct cuda_device *)device;

	calls = *d->calls;
	d->calls = &calls;
	train_device_listener(count_failure, NULL);
	return &calls;
}

static cudnnStatus_t no_workspace(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
				  cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t how,
				  cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t algorithm,
				  size_t *bytes)
{
	return CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
}

static cudnnStatus_t broken_workspace(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
				      cudnnFilterDescriptor_t w, cudnnConvolutionDescriptor_t how,
				      cudnnTensorDescriptor_t y,
				      cudnnConvolutionFwdAlgo_t algorithm, size_t *bytes)
{
	return CUDNN_STATUS_INTERNAL_ERROR;
}

static cudnnStatus_t no_descriptors(cudnnBackendDescriptorType_t type,
				    cudnnBackendDescriptor_t *descriptor)
{
	return CUDNN_STATUS_NOT_SUPPORTED;
}

/* The workspace of the trials has this size. */
static cudaError_t broken_memory(void **memory, size_t bytes)
{
	struct train_error error = {.status = TRAIN_OK};

	return bytes == 8192 ? cudaErrorECCUncorrectable
			     : cuda_calls_get(&error)->cudaMalloc(memory, bytes);
}

/* An algorithm that the library lacks is skipped. If none is left, that is reported, as is any
 * other failure. */
START_TEST(errors_are_reported)
{
	static const char *const expected[] = {
		"cuDNN has no algorithm for this: GPU 0 ",
		": cudnnGetConvolutionForwardWorkspaceSize: CUDNN_STATUS_INTERNAL_ERROR (4000)",
		": cudaMalloc: cudaErrorECCUncorrectable (214)",
	};
	const struct op_shape shape = {.input = layout_host(VALUE_BFLOAT16, BATCH, 8, SIDE, SIDE),
				       .out = OUT,
				       .kernel = 3,
				       .pad = 1,
				       .stride = 1,
				       .relu = true};
	struct train_error error = {.status = TRAIN_OK};
	struct cuda_calls *calls;
	struct device *device;
	struct op *op;

	cuda_test_begin();
	device = opened(0, false, false);
	calls = own_calls(device);
	calls->cudnnBackendCreateDescriptor = no_descriptors;
	if (_i < 2)
		calls->cudnnGetConvolutionForwardWorkspaceSize =
			_i ? broken_workspace : no_workspace;
	else
		calls->cudaMalloc = broken_memory;
	ck_assert_msg(!backend_cuda.convolution(&op, device, &shape, &error), "%s", expected[_i]);
	/* What one algorithm lacks is not a failure of the device. */
	ROW_EQ_INT(expected[_i], failures, _i > 0);
	ck_assert_msg(strstr(error.text, expected[_i]), "'%s', not '%s'", error.text, expected[_i]);
	ck_assert_uint_eq(device->bytes, device->shared_bytes);
	backend_cuda.close(device);
	cuda_test_end(expected[_i]);
}
END_TEST

static bool fail_in_capture(void *argument, struct train_error *error)
{
	return cuda_done(argument, CUDA_LIBRARY_RUNTIME, cudaErrorECCUncorrectable,
			 "cudaMemsetAsync", error);
}

static cudaError_t end_capture(cudaStream_t stream, cudaGraph_t *graph)
{
	struct train_error error;

	failures_before_end = failures;
	return cuda_calls_get(&error)->cudaStreamEndCapture(stream, graph);
}

/* The call that ends the recording may never return. */
START_TEST(the_listener_is_called_before_the_next_call)
{
	struct train_error error = {.status = TRAIN_OK};
	struct device *device;
	struct recording *step;

	cuda_test_begin();
	device = opened(0, false, false);
	own_calls(device)->cudaStreamEndCapture = end_capture;
	ck_assert(!backend_cuda.recording_new(&step, device, fail_in_capture, device, &error));
	ck_assert_int_eq(failures_before_end, 1);
	ck_assert_int_eq(failures, 1);
	backend_cuda.close(device);
	cuda_test_end("reported");
}
END_TEST

/* --- many ways */

enum { MANY = 20, TRIED = 16, ROUNDS = 3 };

/* Ways of which the i-th takes a time from a table, and how often each was timed. */
static struct {
	int way; /* that is being recorded, or was launched last */
	cudaGraphExec_t executables[MANY];
	int timed[MANY];
} many;

static const float many_ms[MANY] = {20, 7.5F, 8,  30, 7,  40, 6, 5, 7.75F, 7.25F,
				    23, 4,    24, 25, 26, 27, 1, 2, 0,     0};

static bool run_one(void *argument, const struct cuda_way *way, void *operands, void *workspace,
		    struct train_error *error)
{
	many.way = (int)way->words[0];
	return backend_cuda.zero(argument, operands, 8, error);
}

static cudaError_t instantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
			       unsigned long long flags)
{
	struct train_error error;
	cudaError_t status = cuda_calls_get(&error)->cudaGraphInstantiate(executable, graph, flags);

	many.executables[many.way] = *executable;
	return status;
}

static cudaError_t launch(cudaGraphExec_t executable, cudaStream_t stream)
{
	struct train_error error;

	for (int i = 0; i < MANY; i++)
		if (many.executables[i] == executable)
			many.way = i;
	return cuda_calls_get(&error)->cudaGraphLaunch(executable, stream);
}

static cudaError_t elapsed(float *ms, cudaEvent_t start, cudaEvent_t stop)
{
	many.timed[many.way]++;
	*ms = many_ms[many.way];
	return cudaSuccess;
}

/* The first 16 are timed once; the best 6 of them in each round, unless they take more than twice
 * as long as the best. Time may end the rounds on a slow machine. */
START_TEST(the_best_of_many_are_timed_again)
{
	struct train_error error = {.status = TRAIN_OK};
	struct cuda_ways ways = {.what = "a test", .count = MANY, .operands = 8, .run = run_one};
	struct device *device;
	struct cuda_calls *calls;
	struct cuda_way way;

	cuda_test_begin();
	device = opened(0, false, false);
	calls = own_calls(device);
	calls->cudaGraphInstantiate = instantiate;
	calls->cudaGraphLaunch = launch;
	calls->cudaEventElapsedTime = elapsed;
	for (int i = 0; i < MANY; i++)
		ways.list[i].words[0] = (uint64_t)i;
	ways.argument = device;
	ck_assert_msg(cuda_choose((struct cuda_device *)device, &ways, &way, &error), "%s",
		      error.text);
	ck_assert_uint_eq(way.words[0], 11);
	for (int i = 0; i < MANY; i++) {
		bool again = i < TRIED && many_ms[i] <= 7.5F;

		ck_assert_msg(many.timed[i] >= (i < TRIED) &&
				      many.timed[i] <= (again ? ROUNDS : i < TRIED),
			      "way %d is timed %d times", i, many.timed[i]);
	}
	backend_cuda.close(device);
	cuda_test_end("many");
}
END_TEST

/* --- writes */

static bool at_once(void *argument, int64_t waited_ns, struct train_error *error)
{
	++*(int *)argument;
	return true;
}

/* A write takes all bytes before it returns, and sends them through the slots, however many there
 * are. It waits by queries only, so that the watch is asked too. */
START_TEST(writes_go_in_pieces)
{
	static const size_t sizes[] = {1, 1 << 18, (1 << 18) + 1, 5 << 20};
	size_t bytes = sizes[_i];
	unsigned char *host = malloc(bytes), *got = malloc(bytes);
	struct train_error error = {.status = TRAIN_OK};
	uint64_t copies, waits;
	struct device *device;
	int asked = 0;
	void *memory;

	fake_cuda_open(&(struct fake_cuda_options){.devices = 1, .late = true});
	device = opened(0, false, false);
	device->watch = (struct device_watch){at_once, &asked};
	memory = backend_cuda.allocate(device, bytes, "bytes", &error);
	for (size_t i = 0; i < bytes; i++)
		host[i] = (unsigned char)(i % 251);
	copies = fake_cuda_made(CUDA_CALL_cudaMemcpyAsync);
	waits = fake_cuda_made(CUDA_CALL_cudaEventSynchronize);
	ck_assert_msg(backend_cuda.write(device, memory, host, bytes, &error), "%s", error.text);
	ck_assert_uint_eq(fake_cuda_made(CUDA_CALL_cudaMemcpyAsync) - copies,
			  (bytes + (1 << 18) - 1) >> 18);
	ck_assert_uint_eq(fake_cuda_made(CUDA_CALL_cudaEventSynchronize), waits);
	memset(host, 0, bytes);
	ck_assert_msg(backend_cuda.read(device, got, memory, bytes, &error), "%s", error.text);
	for (size_t i = 0; i < bytes; i++)
		ck_assert_msg(got[i] == i % 251, "%zu bytes: byte %zu is %d", bytes, i, got[i]);
	backend_cuda.release(device, memory);
	backend_cuda.close(device);
	free(host);
	free(got);
	cuda_test_end("writes");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cuda-choose");
	TCase *tests = tcase_create("choose");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, algorithms_are_chosen, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_test(tests, shapes_are_measured_once);
	tcase_add_loop_test(tests, short_memory_is_no_error, 0,
			    sizeof(memories) / sizeof(*memories));
	tcase_add_test(tests, a_fused_call_gets_more_workspace);
	tcase_add_test(tests, too_little_memory_for_more_workspace);
	tcase_add_loop_test(tests, errors_are_reported, 0, 3);
	tcase_add_test(tests, the_listener_is_called_before_the_next_call);
	tcase_add_test(tests, the_best_of_many_are_timed_again);
	tcase_add_loop_test(tests, writes_go_in_pieces, 0, 4);
	return unit_run(suite);
}
