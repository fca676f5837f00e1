/* SPDX-License-Identifier: MIT */
/* That the pretended kernels take memory that is just large enough, and find each piece that is a
 * little too small. */
#include "config.h"

#include "fake_test.h"

enum { MAX = 13, ROWS = 4, COLUMNS = 8, CHANNELS = 2, PADDED = 8, SIDE = 4 };
enum { SAMPLES = 3, RECORD = 1 + CHANNELS * SIDE * SIDE, PIXELS = ROWS * SIDE * SIDE };
enum { ELEMENTS = 5000, CHUNKS = 2 };

/* A kernel's arguments: pieces of memory by their sizes, some of which begin with what they hold.
 */
struct piece {
	size_t bytes;
	const void *holds; /* NULL: zeros */
	size_t held;
};

struct kernel {
	const char *name;
	int pieces;
	struct piece of[MAX];
	cudaError_t (*run)(void *const *memory, cudaStream_t stream);
};

static const struct pass_control pass = {.epoch = 1, .rows = 3, .scale = 0.5f};
static const struct update_control control = {.lr = 0.1};
static const struct scaler scaler = {.scale = 1};
static const int64_t indices[ROWS] = {2, 0, 1, 2};
static const int32_t labels[ROWS] = {0, 1, 2, 3}, starts[2] = {0, CHUNKS};
static struct chunk chunks[CHUNKS];

static cudaError_t run_add(void *const *m, cudaStream_t stream)
{
	struct accumulate_args args = {m[0], m[1], ELEMENTS};

	return cu.kernel_accumulate(&args, stream);
}

static cudaError_t run_addition(void *const *m, cudaStream_t stream)
{
	struct residual_add_args args = {m[0], m[1], m[2], ELEMENTS, 1, VALUE_FLOAT16};

	return cu.kernel_residual_add(&args, stream);
}

static const struct batch_norm_shape norm = {.rows = ROWS,
					     .columns = COLUMNS,
					     .channels = CHANNELS,
					     .places = 1,
					     .type = VALUE_BFLOAT16};

static cudaError_t run_batch_norm_statistics(void *const *m, cudaStream_t stream)
{
	struct batch_norm_statistics_args args = {.shape = norm,
						  .input = m[0],
						  .control = m[1],
						  .weight = m[2],
						  .bias = m[3],
						  .running_mean = m[4],
						  .running_var = m[5],
						  .saved = m[6],
						  .scratch = m[7],
						  .eps = 1,
						  .training = true};

	return cu.kernel_batch_norm_statistics(&args, stream);
}

enum { RANKS = 3, VALUES = 1 + 2 * CHANNELS };

static cudaError_t run_statistics_of_rank(void *const *m, cudaStream_t stream)
{
	struct batch_norm_statistics_args args = {.shape = norm,
						  .input = m[0],
						  .control = m[1],
						  .values = m[2],
						  .scratch = m[3],
						  .training = true};

	return cu.kernel_batch_norm_statistics(&args, stream);
}

static cudaError_t run_batch_norm_join_statistics(void *const *m, cudaStream_t stream)
{
	struct batch_norm_join_statistics_args args = {.shape = norm,
						       .all = m[0],
						       .ranks = RANKS,
						       .weight = m[1],
						       .bias = m[2],
						       .running_mean = m[3],
						       .running_var = m[4],
						       .saved = m[5],
						       .eps = 1};

	return cu.kernel_batch_norm_join_statistics(&args, stream);
}

static cudaError_t run_batch_norm_normalize(void *const *m, cudaStream_t stream)
{
	struct batch_norm_normalize_args args = {norm, m[0], m[1], m[2], m[3], true};

	return cu.kernel_batch_norm_normalize(&args, stream);
}

static cudaError_t run_batch_norm_sums(void *const *m, cudaStream_t stream)
{
	struct batch_norm_sums_args args = {norm, m[0], m[1], m[2], m[3],
					    m[4], m[5], m[6], true, NULL};

	return cu.kernel_batch_norm_sums(&args, stream);
}

static cudaError_t run_sums_of_rank(void *const *m, cudaStream_t stream)
{
	struct batch_norm_sums_args args = {norm, m[0], m[1], m[2], m[3],
					    m[4], m[5], m[7], true, m[6]};

	return cu.kernel_batch_norm_sums(&args, stream);
}

static cudaError_t run_batch_norm_join_sums(void *const *m, cudaStream_t stream)
{
	struct batch_norm_join_sums_args args = {norm, m[0], RANKS, m[1]};

	return cu.kernel_batch_norm_join_sums(&args, stream);
}

static cudaError_t run_batch_norm_backward(void *const *m, cudaStream_t stream)
{
	struct batch_norm_backward_args args = {norm, m[0], m[1], m[2], m[3], m[4], true};

	return cu.kernel_batch_norm_backward(&args, stream);
}

static cudaError_t run_bias_gradient(void *const *m, cudaStream_t stream)
{
	struct bias_gradient_args args = {m[0], m[1], m[2], m[3], ROWS, COLUMNS, VALUE_BFLOAT16};

	return cu.kernel_bias_gradient(&args, stream);
}

static cudaError_t run_convert(void *const *m, cudaStream_t stream)
{
	struct convert_args args = {m[0], m[1], ELEMENTS, VALUE_FLOAT32, VALUE_FLOAT16};

	return cu.kernel_convert(&args, stream);
}

enum { POOLED = ROWS * (SIDE / 2) * (SIDE / 2), WEIGHTS = COLUMNS * CHANNELS * 9 };

static cudaError_t run_convolution_pool(void *const *m, cudaStream_t stream)
{
	struct convolution_pool_args args = {.input = m[0],
					     .weight = m[1],
					     .bias = m[2],
					     .output = m[3],
					     .places = m[4],
					     .batch = ROWS,
					     .height = SIDE,
					     .width = SIDE,
					     .channels = CHANNELS,
					     .out = COLUMNS,
					     .type = VALUE_BFLOAT16};

	return cu.kernel_convolution_pool(&args, stream);
}

/* The arguments of convolution_pool_backward: what it reads, then what it writes. */
static struct convolution_pool_backward_args convolution_backward(void *const *m)
{
	return (struct convolution_pool_backward_args){.input = m[0],
						       .output_gradient = m[1],
						       .output = m[2],
						       .places = m[3],
						       .weight_gradient = m[4],
						       .bias_gradient = m[5],
						       .scratch = m[6],
						       .batch = ROWS,
						       .height = SIDE,
						       .width = SIDE,
						       .channels = CHANNELS,
						       .out = COLUMNS,
						       .type = VALUE_BFLOAT16};
}

static cudaError_t run_convolution_pool_backward(void *const *m, cudaStream_t stream)
{
	struct convolution_pool_backward_args args = convolution_backward(m);

	return cu.kernel_convolution_pool_backward(&args, stream);
}

static cudaError_t run_cross_entropy(void *const *m, cudaStream_t stream)
{
	struct cross_entropy_args args = {.logits = m[0],
					  .labels = m[1],
					  .control = m[2],
					  .result = m[3],
					  .gradient = m[4],
					  .scaler = m[5],
					  .scratch = m[6],
					  .batch = ROWS,
					  .classes = 5,
					  .pitch = COLUMNS,
					  .type = VALUE_FLOAT16};

	return cu.kernel_cross_entropy(&args, stream);
}

static cudaError_t run_gradient_measure(void *const *m, cudaStream_t stream)
{
	struct gradient_measure_args args = {.gradients = m[0],
					     .chunks = m[1],
					     .starts = m[2],
					     .scaler = m[3],
					     .measure = m[4],
					     .scratch = m[5],
					     .chunk_count = CHUNKS,
					     .parameters = 1};

	return cu.kernel_gradient_measure(&args, stream);
}

static cudaError_t run_gradient_norm(void *const *m, cudaStream_t stream)
{
	const struct gradient_norm_args args = {m[0]};

	return cu.kernel_gradient_norm(&args, stream);
}

static cudaError_t run_input_fill(void *const *m, cudaStream_t stream)
{
	struct input_fill_args args = {.records = m[0],
				       .values = m[1],
				       .indices = m[2],
				       .control = m[3],
				       .images = m[4],
				       .labels = m[5],
				       .batch = ROWS,
				       .type = VALUE_BFLOAT16,
				       .channels = CHANNELS,
				       .padded = PADDED,
				       .from_height = SIDE,
				       .from_width = SIDE,
				       .height = SIDE,
				       .width = SIDE};

	return cu.kernel_input_fill(&args, stream);
}

static cudaError_t run_mean_pool(void *const *m, cudaStream_t stream)
{
	struct mean_pool_args args = {m[0],     m[1],   ROWS,         SIDE * SIDE,
				      CHANNELS, PADDED, VALUE_FLOAT16};

	return cu.kernel_mean_pool(&args, stream);
}

static cudaError_t run_mean_pool_backward(void *const *m, cudaStream_t stream)
{
	struct mean_pool_backward_args args = {m[0],     m[1],   ROWS,         SIDE * SIDE,
					       CHANNELS, PADDED, VALUE_FLOAT16};

	return cu.kernel_mean_pool_backward(&args, stream);
}

static cudaError_t run_relu_backward(void *const *m, cudaStream_t stream)
{
	struct relu_backward_args args = {m[0], m[1], ELEMENTS, VALUE_FLOAT16};

	return cu.kernel_relu_backward(&args, stream);
}

static cudaError_t run_reorder(void *const *m, cudaStream_t stream)
{
	struct reorder_args args = {.from = m[0],
				    .to = m[1],
				    .from_type = VALUE_FLOAT32,
				    .to_type = VALUE_BFLOAT16,
				    .batch = ROWS,
				    .channels = CHANNELS,
				    .height = SIDE,
				    .width = SIDE,
				    .padded = PADDED,
				    .to_nhwc = 1};

	return cu.kernel_reorder(&args, stream);
}

static const struct max_pool_shape pooled = {.batch = ROWS,
					     .height = SIDE,
					     .width = SIDE,
					     .channels = PADDED,
					     .out_height = SIDE / 2,
					     .out_width = SIDE / 2,
					     .kernel = 3,
					     .stride = 2,
					     .pad = 1,
					     .type = VALUE_BFLOAT16};

static cudaError_t run_max_pool(void *const *m, cudaStream_t stream)
{
	struct max_pool_args args = {pooled, m[0], m[1], m[2]};

	return cu.kernel_max_pool(&args, stream);
}

static cudaError_t run_max_pool_backward(void *const *m, cudaStream_t stream)
{
	struct max_pool_backward_args args = {pooled, m[0], m[1], m[2], m[3], m[4], m[5]};

	return cu.kernel_max_pool_backward(&args, stream);
}

static cudaError_t run_update(void *const *m, cudaStream_t stream)
{
	struct update_args args = {m[0], m[1], m[2], m[3], m[4], m[5], CHUNKS, 0, 0};

	return cu.kernel_update(&args, stream);
}

static cudaError_t run_update_begin(void *const *m, cudaStream_t stream)
{
	struct update_begin_args args = {
		.control = m[0], .measure = m[1], .steps = m[2], .factors = m[3], .scaler = m[4]};

	return cu.kernel_update_begin(&args, stream);
}

#define HOLDS(what) \
	{ \
		sizeof(what), &(what), sizeof(what) \
	}
#define ZEROS(size) \
	{ \
		(size), NULL, 0 \
	}

#define TENSOR ZEROS(2 * ROWS * COLUMNS)
#define SAVED ZEROS(4 * BATCH_NORM_SAVED * COLUMNS)
#define OF_CHANNELS ZEROS(4 * CHANNELS)
#define OF_RANK ZEROS(8 * VALUES)
#define OF_RANKS ZEROS(8 * RANKS * VALUES)

/* The scratch of each kernel is known when the program runs. */
static struct kernel kernels[] = {
	{"accumulate", 2, {ZEROS(4 * ELEMENTS), ZEROS(4 * ELEMENTS)}, run_add},
	{"residual_add",
	 3,
	 {ZEROS(2 * ELEMENTS), ZEROS(2 * ELEMENTS), ZEROS(2 * ELEMENTS)},
	 run_addition},
	{"batch_norm_statistics",
	 8,
	 {TENSOR, HOLDS(pass), OF_CHANNELS, OF_CHANNELS, OF_CHANNELS, OF_CHANNELS, SAVED, ZEROS(0)},
	 run_batch_norm_statistics},
	{"batch_norm_statistics",
	 4,
	 {TENSOR, HOLDS(pass), OF_RANK, ZEROS(0)},
	 run_statistics_of_rank},
	{"batch_norm_join_statistics",
	 6,
	 {OF_RANKS, OF_CHANNELS, OF_CHANNELS, OF_CHANNELS, OF_CHANNELS, SAVED},
	 run_batch_norm_join_statistics},
	{"batch_norm_normalize", 4, {TENSOR, HOLDS(pass), SAVED, TENSOR}, run_batch_norm_normalize},
	{"batch_norm_sums",
	 7,
	 {TENSOR, TENSOR, HOLDS(pass), OF_CHANNELS, OF_CHANNELS, SAVED, ZEROS(0)},
	 run_batch_norm_sums},
	{"batch_norm_sums",
	 8,
	 {TENSOR, TENSOR, HOLDS(pass), OF_CHANNELS, OF_CHANNELS, SAVED, OF_RANK, ZEROS(0)},
	 run_sums_of_rank},
	{"batch_norm_join_sums", 2, {OF_RANKS, SAVED}, run_batch_norm_join_sums},
	{"batch_norm_backward",
	 5,
	 {TENSOR, TENSOR, HOLDS(pass), SAVED, TENSOR},
	 run_batch_norm_backward},
	{"bias_gradient",
	 4,
	 {ZEROS(2 * ROWS * COLUMNS), ZEROS(2 * ROWS * COLUMNS), ZEROS(4 * COLUMNS), ZEROS(0)},
	 run_bias_gradient},
	{"convert", 2, {ZEROS(4 * ELEMENTS), ZEROS(2 * ELEMENTS)}, run_convert},
	{"convolution_pool",
	 5,
	 {ZEROS(2 * PIXELS * PADDED), ZEROS(4 * WEIGHTS), ZEROS(4 * COLUMNS),
	  ZEROS(2 * POOLED * COLUMNS), ZEROS(POOLED *COLUMNS / 4)},
	 run_convolution_pool},
	{"convolution_pool_backward",
	 7,
	 {ZEROS(2 * PIXELS * PADDED), ZEROS(2 * POOLED * COLUMNS), ZEROS(2 * POOLED * COLUMNS),
	  ZEROS(POOLED *COLUMNS / 4), ZEROS(4 * WEIGHTS), ZEROS(4 * COLUMNS), ZEROS(0)},
	 run_convolution_pool_backward},
	{"cross_entropy",
	 7,
	 {ZEROS(2 * ROWS * COLUMNS), HOLDS(labels), HOLDS(pass), ZEROS(sizeof(struct loss_result)),
	  ZEROS(2 * ROWS * COLUMNS), HOLDS(scaler), ZEROS(0)},
	 run_cross_entropy},
	{"gradient_measure",
	 6,
	 {ZEROS(4 * ELEMENTS), HOLDS(chunks), HOLDS(starts), HOLDS(scaler),
	  ZEROS(sizeof(struct gradient_measure)), ZEROS(0)},
	 run_gradient_measure},
	{"gradient_norm", 1, {ZEROS(sizeof(struct gradient_measure))}, run_gradient_norm},
	{"input_fill",
	 6,
	 {ZEROS(SAMPLES * RECORD), ZEROS(4 * 256 * CHANNELS), HOLDS(indices), HOLDS(pass),
	  ZEROS(2 * PIXELS * PADDED), ZEROS(4 * ROWS)},
	 run_input_fill},
	{"max_pool",
	 3,
	 {ZEROS(2 * PIXELS * PADDED), ZEROS(2 * PIXELS / 4 * PADDED), ZEROS(PIXELS / 4 * PADDED)},
	 run_max_pool},
	{"max_pool_backward",
	 6,
	 {ZEROS(2 * PIXELS / 4 * PADDED), ZEROS(2 * PIXELS / 4 * PADDED),
	  ZEROS(PIXELS / 4 * PADDED), ZEROS(2 * PIXELS * PADDED), ZEROS(4 * PADDED), ZEROS(0)},
	 run_max_pool_backward},
	{"mean_pool", 2, {ZEROS(2 * PIXELS * PADDED), ZEROS(2 * ROWS * CHANNELS)}, run_mean_pool},
	{"mean_pool_backward",
	 2,
	 {ZEROS(2 * ROWS * CHANNELS), ZEROS(2 * PIXELS * PADDED)},
	 run_mean_pool_backward},
	{"relu_backward", 2, {ZEROS(2 * ELEMENTS), ZEROS(2 * ELEMENTS)}, run_relu_backward},
	{"reorder", 2, {ZEROS(4 * PIXELS * CHANNELS), ZEROS(2 * PIXELS * PADDED)}, run_reorder},
	{"update",
	 6,
	 {ZEROS(4 * ELEMENTS), ZEROS(4 * ELEMENTS), ZEROS(4 * ELEMENTS), ZEROS(4 * ELEMENTS),
	  HOLDS(chunks), ZEROS(sizeof(struct update_factors))},
	 run_update},
	{"update_begin",
	 5,
	 {HOLDS(control), ZEROS(sizeof(struct gradient_measure)), ZEROS(8),
	  ZEROS(sizeof(struct update_factors)), HOLDS(scaler)},
	 run_update_begin},
};

enum { KERNELS = sizeof(kernels) / sizeof(*kernels) };

/* The sizes by the functions of the headers. */
static void complete(struct kernel *kernel)
{
	static void *const none[MAX];
	struct convolution_pool_backward_args convolution = convolution_backward(none);
	struct piece *last = &kernel->of[kernel->pieces - 1];

	chunks[0] = (struct chunk){.first = 0, .count = CHUNK_ELEMENTS};
	chunks[1] = (struct chunk){.first = CHUNK_ELEMENTS, .count = ELEMENTS - CHUNK_ELEMENTS};
	if (last->bytes > 0)
		return;
	if (kernel->run == run_batch_norm_statistics || kernel->run == run_batch_norm_sums ||
	    kernel->run == run_statistics_of_rank || kernel->run == run_sums_of_rank)
		last->bytes = batch_norm_scratch(&norm);
	else if (kernel->run == run_bias_gradient)
		last->bytes = bias_gradient_scratch(ROWS, COLUMNS, VALUE_BFLOAT16);
	else if (kernel->run == run_convolution_pool_backward)
		last->bytes = convolution_pool_backward_scratch(&convolution);
	else if (kernel->run == run_cross_entropy)
		last->bytes = cross_entropy_scratch(ROWS, 5);
	else if (kernel->run == run_gradient_measure)
		last->bytes = gradient_measure_scratch(CHUNKS);
	else
		last->bytes = max_pool_scratch(&pooled);
}

/* Runs it with one byte less of the piece `small`, or of none. */
static cudaError_t run_with(const struct kernel *kernel, int small)
{
	cudaStream_t stream = stream_new(0);
	void *memory[MAX] = {NULL};
	cudaError_t status;

	for (int i = 0; i < kernel->pieces; i++) {
		const struct piece *piece = &kernel->of[i];
		size_t bytes = piece->bytes - (i == small);

		memory[i] = device_new(bytes);
		OK(cu.cudaMemsetAsync(memory[i], 0, bytes, stream));
		if (piece->holds)
			OK(cu.cudaMemcpyAsync(memory[i], piece->holds, piece->held - (i == small),
					      cudaMemcpyHostToDevice, stream));
	}
	status = kernel->run(memory, stream);
	if (status == cudaSuccess)
		status = cu.cudaStreamSynchronize(stream);
	fake_cuda_break(0, cudaSuccess);
	for (int i = 0; i < kernel->pieces; i++)
		OK(cu.cudaFree(memory[i]));
	OK(cu.cudaStreamDestroy(stream));
	return status;
}

START_TEST(memory_is_just_large_enough)
{
	struct kernel *kernel = &kernels[_i / 2];

	complete(kernel);
	machine_open(1, _i % 2);
	ck_assert_msg(run_with(kernel, -1) == cudaSuccess, "%s: %s", kernel->name,
		      fake_cuda_fault());
	machine_close();
	for (int i = 0; i < kernel->pieces; i++) {
		machine_open(1, _i % 2);
		ck_assert_msg(run_with(kernel, i) == cudaErrorIllegalAddress,
			      "%s: a byte less of %d", kernel->name, i);
		ck_assert_msg(strstr(fake_cuda_fault(), kernel->name) &&
				      strstr(fake_cuda_fault(), "of an allocation of"),
			      "%s, %d: %s", kernel->name, i, fake_cuda_fault());
		fake_cuda_forgive();
		machine_close();
	}
}
END_TEST

static bool is_tried(const char *call)
{
	for (int i = 0; i < KERNELS; i++)
		if (strcmp(call + strlen("kernel_"), kernels[i].name) == 0)
			return true;
	return false;
}

START_TEST(all_kernels_are_tried)
{
	for (int call = 0; call < CUDA_CALLS; call++) {
		const char *name = cuda_call_name(call);

		if (cuda_call_library(call) == CUDA_LIBRARY_KERNELS &&
		    strcmp(name, "kernel_busy") != 0) /* it has no memory */
			ck_assert_msg(is_tried(name), "%s", name);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fake_kernels");
	TCase *tcase = tcase_create("memory");

	tcase_add_loop_test(tcase, memory_is_just_large_enough, 0, 2 * KERNELS);
	tcase_add_test(tcase, all_kernels_are_tried);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
