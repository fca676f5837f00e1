/* SPDX-License-Identifier: MIT */
/* The products of linear layers on a pretended GPU (fake_cublaslt_run.c says what there is). */
#include "config.h"

#include "backend/cuda.h"
#include "cuda-test.h"

enum { OUT = 16, IN = 1000, ROWS = 4 };

static struct device *opened(bool deterministic)
{
	const struct device_options options = {.deterministic = deterministic};
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

/* The fastest sums in any order; --deterministic does without. */
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
	device = opened(_i);
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

static cublasStatus_t (*real_ask)(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
				  cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
				  cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
				  cublasLtMatmulHeuristicResult_t *, int *);
static int asked;

/* As a library that has no product with sums: a layer asks for its own second, or third. */
static cublasStatus_t ask_but_sums(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
				   cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
				   cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
				   cublasLtMatmulPreference_t preference, int wanted,
				   cublasLtMatmulHeuristicResult_t *found, int *count)
{
	return ++asked == 3
		       ? CUBLAS_STATUS_NOT_SUPPORTED
		       : real_ask(handle, product, a, b, c, d, preference, wanted, found, count);
}

static const struct sums_row {
	const char *name;
	enum value_type type;
	int out;
	size_t offset;
	bool deterministic, relu_backward, no_sums;
	const char *algorithm;
} sums_rows[] = {
	{"few", VALUE_BFLOAT16, 16, 0, false, false, false, "cuBLASLt with the bias gradient"},
	{"floats", VALUE_FLOAT32, 10, 0, false, false, false, "cuBLASLt with the bias gradient"},
	{"hardly aligned", VALUE_FLOAT16, 10, 4, false, false, false,
	 "cuBLASLt with the bias gradient"},
	{"many, which a kernel sums faster", VALUE_BFLOAT16, 24, 0, false, false, false,
	 "cuBLASLt"},
	{"in one order", VALUE_BFLOAT16, 16, 0, true, false, false, "cuBLASLt"},
	{"behind ReLU", VALUE_FLOAT16, 16, 0, false, true, false, "cuBLASLt"},
	{"none to be had", VALUE_FLOAT16, 16, 0, false, false, true, "cuBLASLt"},
};

enum { SUMS_IN = 24, SUMS_BATCH = 6, SUMS_MOST = 24 };

/* Both gradients of a layer where the input, the output and its gradient are 1 everywhere. */
static void run_gradients(struct op *op, const struct sums_row *row, float *weight, float *bias)
{
	const struct backend *b = &backend_cuda;
	struct train_error error = {.status = TRAIN_OK};
	size_t weights = sizeof(float) * SUMS_IN * (size_t)row->out;
	float ones[SUMS_BATCH * SUMS_IN];
	struct device *device = op->device;
	char *gradients =
		b->allocate(device, weights + 256 + sizeof(float) * SUMS_MOST, "g", &error);
	char *sums = gradients + (weights + 255) / 256 * 256 + row->offset;
	void *x = b->allocate(device, sizeof(ones), "x", &error);
	void *y = b->allocate(device, sizeof(ones), "y", &error);
	struct op_args args = {.input = x,
			       .output = y,
			       .output_gradient = y,
			       .weight_gradient = gradients,
			       .bias_gradient = sums};

	for (size_t i = 0; i < SUMS_BATCH * SUMS_IN; i++)
		value_set(row->type, ones, i, 1);
	ck_assert_msg(b->write(device, x, ones, sizeof(ones), &error) &&
			      b->write(device, y, ones, sizeof(ones), &error) &&
			      op->calls->backward_weights(op, &args, &error) &&
			      b->read(device, weight, gradients, weights, &error) &&
			      b->read(device, bias, sums, sizeof(float) * (size_t)row->out, &error),
		      "%s: %s", row->name, error.text);
	b->release(device, gradients);
	b->release(device, x);
	b->release(device, y);
}

/* cuBLASLt's or the kernel's, whichever is faster; both are the sums of the batch. */
START_TEST(sums_are_left_by_the_faster)
{
	const struct sums_row *row = &sums_rows[_i];
	const struct op_shape shape = {.input = layout_host(row->type, SUMS_BATCH, SUMS_IN, 1, 1),
				       .out = row->out,
				       .relu = row->relu_backward,
				       .relu_backward = row->relu_backward,
				       .bias_offset = row->offset};
	struct train_error error = {.status = TRAIN_OK};
	float weight[SUMS_IN * SUMS_MOST], bias[SUMS_MOST];
	struct cuda_calls calls;
	struct device *device;
	uint64_t kernels;
	struct op *op;

	cuda_test_begin();
	device = opened(row->deterministic);
	calls = *((struct cuda_device *)device)->calls;
	real_ask = calls.cublasLtMatmulAlgoGetHeuristic;
	asked = 0;
	if (row->no_sums)
		calls.cublasLtMatmulAlgoGetHeuristic = ask_but_sums;
	((struct cuda_device *)device)->calls = &calls;
	ck_assert_msg(backend_cuda.linear(&op, device, &shape, &error), "%s: %s", row->name,
		      error.text);
	ROW_EQ_STR(row->name, op->info.algorithm, row->algorithm);
	kernels = fake_cuda_made(CUDA_CALL_kernel_bias_gradient);
	run_gradients(op, row, weight, bias);
	ROW_EQ_INT(row->name, fake_cuda_made(CUDA_CALL_kernel_bias_gradient) - kernels,
		   strcmp(row->algorithm, "cuBLASLt") == 0);
	for (int i = 0; i < row->out; i++)
		ck_assert_msg(bias[i] == SUMS_BATCH, "%s: bias %d: %g", row->name, i, bias[i]);
	for (int i = 0; i < row->out * SUMS_IN; i++)
		ck_assert_msg(weight[i] == SUMS_BATCH, "%s: weight %d: %g", row->name, i,
			      weight[i]);
	op_free(op);
	backend_cuda.close(device);
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
