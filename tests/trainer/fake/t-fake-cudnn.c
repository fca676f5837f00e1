/* SPDX-License-Identifier: MIT */
/* Convolutions of the pretended cuDNN against their definition, and what it refuses. */
#include "config.h"

#include <math.h>

#include "fake_tensors.h"

static const struct row rows[] = {
	{"bf16 3x3", CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_NHWC, 3, 8, 6, 5, 16, 3, 1, 1},
	{"fp16 5x5", CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC, 2, 8, 9, 9, 8, 5, 0, 1},
	{"fp32 3x3", CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, 2, 4, 7, 6, 5, 3, 1, 1},
	{"fp32 stride", CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, 2, 3, 8, 7, 4, 3, 2, 2},
	{"fp32 NCHW", CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 2, 3, 5, 6, 4, 2, 0, 1},
};

/* y[n][k][h][w] is the sum of all x[n][c][a][b] * w[k][c][i][j] that go there. Adds to y, or to the
 * gradients x and w, if they are not NULL. */
static void define(const struct row *row, double *x, double *w, double *y)
{
	for (int n = 0; n < s.y.n * s.y.c * s.y.h * s.y.w; n++)
		for (int r = 0; r < s.w.c * s.w.h * s.w.w; r++) {
			int image = n / (s.y.c * s.y.h * s.y.w), k = n / (s.y.h * s.y.w) % s.y.c;
			int c = r / (s.w.h * s.w.w), i = r / s.w.w % s.w.h, j = r % s.w.w;
			int a = n / s.y.w % s.y.h * row->stride + i - row->pad;
			int b = n % s.y.w * row->stride + j - row->pad;
			int from = ((image * s.x.c + c) * s.x.h + a) * s.x.w + b;
			int by = k * s.w.c * s.w.h * s.w.w + r;

			if (a < 0 || a >= s.x.h || b < 0 || b >= s.x.w)
				continue;
			if (x)
				x[from] += s.y.values[n] * s.w.values[by];
			if (w)
				w[by] += s.y.values[n] * s.x.values[from];
			if (y)
				y[n] += s.x.values[from] * s.w.values[by];
		}
}

static double *doubles(const struct data *d)
{
	return calloc(d->count, sizeof(double));
}

START_TEST(forward_is_the_definition)
{
	const struct row *row = &rows[_i];
	const float one = 1, zero = 0;
	double *want;

	setup(row, false);
	want = doubles(&s.y);
	define(row, NULL, NULL, want);
	OK(cu.cudaMemsetAsync(s.workspace, 0, WORKSPACE, s.stream));
	for (size_t i = 0; i < s.y.count; i++)
		want[i] += s.bias.values[i / (size_t)(s.y.h * s.y.w) % (size_t)s.y.c];
	OK(cu.cudnnSetActivationDescriptor(s.activation, CUDNN_ACTIVATION_IDENTITY,
					   CUDNN_NOT_PROPAGATE_NAN, 0));
	OK(cu.cudnnConvolutionBiasActivationForward(
		s.handle, &one, s.x_desc, s.x.memory, s.w_desc, s.w.memory, s.convolution,
		CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, s.workspace, WORKSPACE, &zero,
		s.y_desc, s.y.memory, s.bias_desc, s.bias.memory, s.activation, s.y_desc,
		s.y.memory));
	data_check(row, &s.y, want, "y + bias");
	/* The run overwrites the workspace. */
	ck_assert_msg(isnan(*(const float *)s.workspace), "%s: the workspace is kept", row->name);
	OK(cu.cudnnSetActivationDescriptor(s.activation, CUDNN_ACTIVATION_RELU,
					   CUDNN_NOT_PROPAGATE_NAN, 0));
	OK(cu.cudnnConvolutionBiasActivationForward(
		s.handle, &one, s.x_desc, s.x.memory, s.w_desc, s.w.memory, s.convolution,
		CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, NULL, 0, &zero, s.y_desc, s.y.memory,
		s.bias_desc, s.bias.memory, s.activation, s.y_desc, s.y.memory));
	for (size_t i = 0; i < s.y.count; i++)
		want[i] = want[i] > 0 ? want[i] : 0;
	data_check(row, &s.y, want, "max(0, y + bias)");
	free(want);
	teardown();
}
END_TEST

START_TEST(backward_is_the_definition)
{
	const struct row *row = &rows[_i];
	const float one = 1, zero = 0;
	double *want_x, *want_w;

	setup(row, true);
	want_x = doubles(&s.x);
	want_w = doubles(&s.w);
	define(row, NULL, want_w, NULL);
	define(row, want_x, NULL, NULL);
	OK(cu.cudnnConvolutionBackwardFilter(s.handle, &one, s.x_desc, s.x.memory, s.y_desc,
					     s.y.memory, s.convolution,
					     CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, s.workspace,
					     WORKSPACE, &zero, s.w_desc, s.w.memory));
	data_check(row, &s.w, want_w, "dw");
	data_put(&s.w);
	/* beta: added to what is there. */
	for (size_t i = 0; i < s.x.count; i++)
		want_x[i] += s.x.values[i];
	OK(cu.cudnnConvolutionBackwardData(s.handle, &one, s.w_desc, s.w.memory, s.y_desc,
					   s.y.memory, s.convolution,
					   CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, s.workspace,
					   WORKSPACE, &one, s.x_desc, s.x.memory));
	data_check(row, &s.x, want_x, "dx");
	free(want_x);
	free(want_w);
	teardown();
}
END_TEST

START_TEST(algorithms_say_what_they_need)
{
	cudnnConvolutionBwdFilterAlgoPerf_t found[16];
	const float one = 1, zero = 0;
	size_t bytes;
	int count = 0;

	setup(&rows[0], false);
	OK(cu.cudnnGetConvolutionBackwardFilterAlgorithm_v7(
		s.handle, s.x_desc, s.y_desc, s.convolution, s.w_desc, 16, &count, found));
	ck_assert_int_eq(count, 7);
	ck_assert_int_eq(found[0].determinism, CUDNN_DETERMINISTIC);
	ck_assert_int_eq(found[1].determinism, CUDNN_NON_DETERMINISTIC);
	ck_assert_int_eq(found[3].mathType, CUDNN_DEFAULT_MATH);
	ck_assert_int_eq(found[6].status, CUDNN_STATUS_NOT_SUPPORTED);
	for (int i = 0; i < count - 1; i++) {
		ck_assert(found[i].status == CUDNN_STATUS_SUCCESS && found[i].time < 0);
		OK(cu.cudnnSetConvolutionMathType(s.convolution, found[i].mathType));
		OK(cu.cudnnGetConvolutionBackwardFilterWorkspaceSize(s.handle, s.x_desc, s.y_desc,
								     s.convolution, s.w_desc,
								     found[i].algo, &bytes));
		ck_assert_uint_eq(bytes, found[i].memory);
		if (bytes > 0)
			ck_assert_int_eq(cu.cudnnConvolutionBackwardFilter(
						 s.handle, &one, s.x_desc, s.x.memory, s.y_desc,
						 s.y.memory, s.convolution, found[i].algo,
						 s.workspace, bytes - 1, &zero, s.w_desc,
						 s.w.memory),
					 CUDNN_STATUS_BAD_PARAM);
	}
	teardown();
}
END_TEST

/* A fused call that is right. Each of the next functions undoes one thing of it. */
static cudnnStatus_t fused(const void *x, const void *bias, cudnnConvolutionFwdAlgo_t algorithm)
{
	const float one = 1, zero = 0;

	return cu.cudnnConvolutionBiasActivationForward(
		s.handle, &one, s.x_desc, x, s.w_desc, s.w.memory, s.convolution, algorithm,
		s.workspace, WORKSPACE, &zero, s.y_desc, s.y.memory, s.bias_desc, bias,
		s.activation, s.y_desc, s.y.memory);
}

static void nothing(void)
{
}

static void float_bias(void)
{
	OK(cu.cudnnSetTensor4dDescriptor(s.bias_desc, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 1, 16, 1,
					 1));
}

static void short_bias(void)
{
	OK(cu.cudnnSetTensor4dDescriptor(s.bias_desc, CUDNN_TENSOR_NHWC, CUDNN_DATA_BFLOAT16, 1, 8,
					 1, 1));
}

static void identity(void)
{
	OK(cu.cudnnSetActivationDescriptor(s.activation, CUDNN_ACTIVATION_IDENTITY,
					   CUDNN_NOT_PROPAGATE_NAN, 0));
}

static void kept_nan(void)
{
	OK(cu.cudnnSetActivationDescriptor(s.activation, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN,
					   0));
}

static void halved_floats(void)
{
	OK(cu.cudnnSetConvolutionMathType(s.convolution, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION));
}

static void wrong_height(void)
{
	OK(cu.cudnnSetTensor4dDescriptor(s.y_desc, CUDNN_TENSOR_NHWC, CUDNN_DATA_BFLOAT16, 3, 16, 5,
					 5));
}

static void mixed_types(void)
{
	OK(cu.cudnnSetTensor4dDescriptor(s.y_desc, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 3, 16, 6,
					 5));
}

static void mixed_formats(void)
{
	OK(cu.cudnnSetFilter4dDescriptor(s.w_desc, CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_NCHW, 16, 8, 3,
					 3));
}

static void half_sums(void)
{
	OK(cu.cudnnSetConvolution2dDescriptor(s.convolution, 1, 1, 1, 1, 1, 1,
					      CUDNN_CROSS_CORRELATION, CUDNN_DATA_BFLOAT16));
}

static const struct refusal {
	const char *name;
	void (*undo)(void);
	int algorithm, x_moved;
	cudnnStatus_t status;
	const char *fault;
} refusals[] = {
	{"right", nothing, CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, 0, CUDNN_STATUS_SUCCESS,
	 ""},
	{"bias of floats", float_bias, 1, 0, CUDNN_STATUS_NOT_SUPPORTED, ""},
	{"short bias", short_bias, 1, 0, CUDNN_STATUS_BAD_PARAM, ""},
	{"identity", identity, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, 0,
	 CUDNN_STATUS_NOT_SUPPORTED, ""},
	{"identity by its algorithm", identity, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, 0,
	 CUDNN_STATUS_SUCCESS, ""},
	{"NaN that is kept", kept_nan, 1, 0, CUDNN_STATUS_NOT_SUPPORTED, ""},
	{"halves that stay halves", halved_floats, 1, 0, CUDNN_STATUS_SUCCESS, ""},
	{"height", wrong_height, 1, 0, CUDNN_STATUS_BAD_PARAM, ""},
	{"types", mixed_types, 1, 0, CUDNN_STATUS_NOT_SUPPORTED, ""},
	{"formats", mixed_formats, 1, 0, CUDNN_STATUS_NOT_SUPPORTED, ""},
	{"sums of halves", half_sums, 1, 0, CUDNN_STATUS_NOT_SUPPORTED, ""},
	{"an algorithm that is not there", nothing, CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, 0,
	 CUDNN_STATUS_NOT_SUPPORTED, ""},
	{"misaligned", nothing, 1, 2, CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
	 "is not a multiple of 16"},
	{"too long", nothing, 1, 16, CUDNN_STATUS_EXECUTION_FAILED, "bytes at byte 16"},
};

START_TEST(what_is_illegal_is_refused)
{
	const struct refusal *row = &refusals[_i];

	setup(&rows[0], false);
	row->undo();
	ROW_EQ_INT(row->name,
		   fused((char *)s.x.memory + row->x_moved, s.bias.memory,
			 (cudnnConvolutionFwdAlgo_t)row->algorithm),
		   row->status);
	ck_assert_msg(strstr(fake_cuda_fault(), row->fault) && (*row->fault || !*fake_cuda_fault()),
		      "%s: '%s'", row->name, fake_cuda_fault());
	fake_cuda_forgive();
	teardown();
}
END_TEST

/* Floats that are rounded to halves, an x that is y, and an algorithm that cannot be recorded. */
START_TEST(traps_are_found)
{
	const float one = 1, zero = 0;
	cudaGraph_t graph = NULL;

	setup(&rows[2], false);
	OK(cu.cudnnSetConvolutionMathType(s.convolution, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION));
	OK(fused(s.x.memory, s.bias.memory, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM));
	ck_assert_msg(strstr(fake_cuda_fault(), "floats to halves"), "%s", fake_cuda_fault());
	fake_cuda_forgive();
	OK(cu.cudnnSetConvolutionMathType(s.convolution, CUDNN_DEFAULT_MATH));
	ck_assert_int_eq(fused(s.y.memory, s.bias.memory, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM),
			 CUDNN_STATUS_BAD_PARAM);
	OK(cu.cudaStreamBeginCapture(s.stream, cudaStreamCaptureModeThreadLocal));
	ck_assert_int_eq(cu.cudnnConvolutionBackwardData(
				 s.handle, &one, s.w_desc, s.w.memory, s.y_desc, s.y.memory,
				 s.convolution, CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED,
				 s.workspace, WORKSPACE, &zero, s.x_desc, s.x.memory),
			 CUDNN_STATUS_EXECUTION_FAILED_CUDART);
	ck_assert_int_eq(cu.cudaStreamEndCapture(s.stream, &graph),
			 cudaErrorStreamCaptureInvalidated);
	teardown();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fake_cudnn");
	TCase *tcase = tcase_create("convolution");

	tcase_add_loop_test(tcase, forward_is_the_definition, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_loop_test(tcase, backward_is_the_definition, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_test(tcase, algorithms_say_what_they_need);
	tcase_add_test(tcase, traps_are_found);
	tcase_add_loop_test(tcase, what_is_illegal_is_refused, 0,
			    sizeof(refusals) / sizeof(*refusals));
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
