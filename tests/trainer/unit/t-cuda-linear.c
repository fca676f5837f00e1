/* SPDX-License-Identifier: MIT */
/* The products of linear layers on a simulated GPU (fake_cublaslt_run.c has the algorithms). */
#include "config.h"

#include "backend/cuda/cuda.h"
#include "cuda-test.h"

enum { OUT = 16, IN = 1000, ROWS = 4 };

static struct device *opened(int gpu, bool deterministic)
{
	const struct device_options options = {
		.logical = gpu, .physical = gpu, .deterministic = deterministic};
	struct train_error error = {.status = TRAIN_OK};
	struct device *device;

	ck_assert_msg(backend_cuda.open(&device, &options, &error), "%s", error.text);
	return device;
}

static void run_linear(struct op *op, const float *weight, float *output)
{
	const struct backend *b = &backend_cuda;
	struct train_error error = {.status = TRAIN_OK};
	struct device *device = op->device;
	struct op_args args = {.scratch = NULL};
	size_t bytes = sizeof(*weight) * IN * OUT;
	void *w = b->allocate(device, bytes, "w", &error);
	void *x = b->allocate(device, sizeof(float) * IN * ROWS, "x", &error);
	void *y = b->allocate(device, sizeof(float) * OUT * ROWS, "y", &error);

	args = (struct op_args){.weight = w, .bias = w, .input = x, .output = y};
	ck_assert_msg(b->write(device, w, weight, bytes, &error) &&
			      b->write(device, x, weight, sizeof(float) * IN * ROWS, &error) &&
			      op->calls->prepare(op, &args, &error) &&
			      op->calls->forward(op, &args, &error) &&
			      b->read(device, output, y, sizeof(float) * OUT * ROWS, &error),
		      "%s", error.text);
	b->release(device, w);
	b->release(device, x);
	b->release(device, y);
}

/* The fastest algorithm sums in any order. With --deterministic it is not taken. */
START_TEST(products_repeat_themselves)
{
	const struct op_shape shape = {.input = layout_host(VALUE_FLOAT32, ROWS, IN, 1, 1),
				       .out = OUT};
	static float weight[IN * OUT], first[OUT * ROWS], second[OUT * ROWS];
	struct train_error error = {.status = TRAIN_OK};
	struct device *device;
	struct op *op;

	for (int i = 0; i < IN * OUT; i++)
		weight[i] = 1 / (float)(i * 7 % 1013 + 1);
	cuda_test_begin();
	device = opened(0, _i);
	ck_assert_msg(backend_cuda.linear(&op, device, &shape, &error), "%s", error.text);
	run_linear(op, weight, first);
	run_linear(op, weight, second);
	ck_assert_msg((memcmp(first, second, sizeof(first)) == 0) == _i,
		      "deterministic %d: the same bits are %s", _i, _i ? "not there" : "there");
	op_free(op);
	backend_cuda.close(device);
	cuda_test_end("products");
}
END_TEST

/* --- products that leave sums */

/* The calls of a library that has no product with sums. */
static struct cuda_calls real;
static cublasLtMatmulDesc_t with_sums;
static cublasStatus_t refusal;

static cublasStatus_t set_and_note(cublasLtMatmulDesc_t how,
				   cublasLtMatmulDescAttributes_t attribute, const void *value,
				   size_t bytes)
{
	cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;

	if (attribute == CUBLASLT_MATMUL_DESC_EPILOGUE)
		memcpy(&epilogue, value, sizeof(epilogue));
	if (epilogue == CUBLASLT_EPILOGUE_BGRADB)
		with_sums = how;
	return real.cublasLtMatmulDescSetAttribute(how, attribute, value, bytes);
}

static cublasStatus_t ask_but_sums(cublasLtHandle_t handle, cublasLtMatmulDesc_t how,
				   cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
				   cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
				   cublasLtMatmulPreference_t preference, int wanted,
				   cublasLtMatmulHeuristicResult_t *found, int *count)
{
	return how == with_sums
		       ? refusal
		       : real.cublasLtMatmulAlgoGetHeuristic(handle, how, a, b, c, d, preference,
							     wanted, found, count);
}

static const struct sums_row {
	const char *name;
	enum value_type type;
	int batch, out;
	size_t offset;
	bool deterministic, relu_backward;
	cublasStatus_t refusal; /* of sums; 0: none */
	bool fused;
} sums_rows[] = {
	{"few", VALUE_BFLOAT16, 6, 16, 0, false, false, 0, true},
	{"floats", VALUE_FLOAT32, 5, 10, 0, false, false, 0, true},
	{"two rows", VALUE_FLOAT32, 2, 1, 0, false, false, 0, true},
	{"a whole buffer's", VALUE_FLOAT16, 6, 10, 16, false, false, 0, true},
	{"hardly aligned", VALUE_FLOAT16, 6, 10, 4, false, false, 0, false},
	{"one row", VALUE_FLOAT16, 1, 10, 0, false, false, 0, false},
	{"many, which a kernel sums faster", VALUE_BFLOAT16, 6, 24, 0, false, false, 0, false},
	{"in one order", VALUE_BFLOAT16, 6, 16, 0, true, false, 0, false},
	{"behind ReLU", VALUE_FLOAT16, 6, 16, 0, false, true, 0, false},
	{"not supported", VALUE_FLOAT16, 6, 16, 0, false, false, CUBLAS_STATUS_NOT_SUPPORTED,
	 false},
	{"not known", VALUE_FLOAT16, 6, 16, 0, false, false, CUBLAS_STATUS_INVALID_VALUE, false},
};

enum { SUMS_IN = 24, SUMS_BATCH = 6, MAX_SUMS = 24 };

/* Both gradients of a layer. Each row of its input is 1, 2, ...; each row of its output's gradient
 * is 1, 2, ... times the row's number. */
static void run_gradients(struct op *op, const struct sums_row *row, float *weight, float *bias)
{
	const struct backend *b = &backend_cuda;
	struct train_error error = {.status = TRAIN_OK};
	size_t weights = sizeof(float) * SUMS_IN * (size_t)row->out;
	float input[SUMS_BATCH * SUMS_IN] = {0}, output[SUMS_BATCH * MAX_SUMS] = {0};
	struct device *device = op->device;
	char *gradients = b->allocate(device, weights + 512, "g", &error);
	char *sums = gradients + (weights + 255) / 256 * 256 + row->offset;
	void *x = b->allocate(device, sizeof(input), "x", &error);
	void *y = b->allocate(device, sizeof(output), "y", &error);
	struct op_args args = {.input = x,
			       .output = y,
			       .output_gradient = y,
			       .weight_gradient = gradients,
			       .bias_gradient = sums};

	for (int r = 0; r < row->batch; r++) {
		for (int i = 0; i < SUMS_IN; i++)
			value_set(row->type, input, r * SUMS_IN + i, i + 1);
		for (int o = 0; o < row->out; o++)
			value_set(row->type, output, r * row->out + o, (o + 1) * (r + 1));
	}
	ck_assert_msg(b->write(device, x, input, sizeof(input), &error) &&
			      b->write(device, y, output, sizeof(output), &error) &&
			      op->calls->backward_weights(op, &args, &error) &&
			      b->read(device, weight, gradients, weights, &error) &&
			      b->read(device, bias, sums, sizeof(float) * (size_t)row->out, &error),
		      "%s: %s", row->name, error.text);
	b->release(device, gradients);
	b->release(device, x);
	b->release(device, y);
}

static void check_layer(struct device *device, const struct sums_row *row)
{
	const struct op_shape shape = {.input = layout_host(row->type, row->batch, SUMS_IN, 1, 1),
				       .out = row->out,
				       .relu = true, /* of the pooling, unless relu_backward */
				       .relu_backward = row->relu_backward,
				       .bias_offset = row->offset};
	struct train_error error = {.status = TRAIN_OK};
	float weight[SUMS_IN * MAX_SUMS], bias[MAX_SUMS];
	int rows = row->batch * (row->batch + 1) / 2;
	uint64_t kernels;
	struct op *op;

	ck_assert_msg(backend_cuda.linear(&op, device, &shape, &error), "%s: %s", row->name,
		      error.text);
	ROW_EQ_STR(row->name, op->info.algorithm,
		   row->fused ? "cuBLASLt with the bias gradient" : "cuBLASLt");
	for (int again = 0; again < 2; again++) {
		kernels = fake_cuda_made(CUDA_CALL_kernel_bias_gradient);
		run_gradients(op, row, weight, bias);
		kernels = fake_cuda_made(CUDA_CALL_kernel_bias_gradient) - kernels;
		ROW_EQ_INT(row->name, kernels, !row->fused);
		for (int o = 0; o < row->out; o++) {
			ROW_EQ_INT(row->name, bias[o], (float)(rows * (o + 1)));
			for (int i = 0; i < SUMS_IN; i++)
				ROW_EQ_INT(row->name, weight[o * SUMS_IN + i],
					   (float)(rows * (o + 1) * (i + 1)));
		}
	}
	op_free(op);
}

/* cuBLASLt or the kernel makes the sums, whichever is faster. Another GPU takes what the first one
 * took. */
START_TEST(sums_are_left_by_the_faster)
{
	const struct sums_row *row = &sums_rows[_i];
	struct cuda_calls calls;

	cuda_test_begin();
	for (int gpu = 0; gpu < 2; gpu++) {
		struct device *device = opened(gpu, row->deterministic);
		uint64_t measured = fake_cuda_made(CUDA_CALL_cudaEventElapsedTime);

		real = calls = *((struct cuda_device *)device)->calls;
		refusal = row->refusal;
		if (refusal) {
			calls.cublasLtMatmulDescSetAttribute = set_and_note;
			calls.cublasLtMatmulAlgoGetHeuristic = ask_but_sums;
		}
		((struct cuda_device *)device)->calls = &calls;
		check_layer(device, row);
		ROW_EQ_INT(row->name, fake_cuda_made(CUDA_CALL_cudaEventElapsedTime) == measured,
			   gpu == 1 || row->deterministic);
		backend_cuda.close(device);
	}
	cuda_test_end(row->name);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("linear");
	TCase *tests = tcase_create("linear");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, products_repeat_themselves, 0, 2);
	tcase_add_loop_test(tests, sums_are_left_by_the_faster, 0,
			    sizeof(sums_rows) / sizeof(*sums_rows));
	return unit_run(suite);
}
