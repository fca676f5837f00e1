/* SPDX-License-Identifier: MIT */
/* Products of the pretended cuBLASLt against their definition, and what it refuses. Values are
 * small integers, so that sums are exact in any order. */
#include "config.h"

#include "fake_test.h"
#include "fake_values.h"

enum { M = 24, N = 10, K = 16, WORKSPACE = 8192 };

static struct setup {
	cudaStream_t stream;
	cublasLtHandle_t handle;
	cublasLtMatmulDesc_t product;
	cublasLtMatrixLayout_t a_layout, b_layout, d_layout;
	cublasLtMatmulPreference_t preference;
	void *a, *b, *d, *bias, *workspace;
	float values_a[M * K], values_b[K * N]; /* as op() gives them: (i, l), (l, j) */
	float bias_values[M];
} s;

struct row {
	const char *name;
	cudaDataType_t type, to;
	bool turn_a, turn_b;
	int epilogue;
	float beta;
};

static const struct row rows[] = {
	{"float", CUDA_R_32F, CUDA_R_32F, false, false, CUBLASLT_EPILOGUE_DEFAULT, 0},
	{"float, A turned", CUDA_R_32F, CUDA_R_32F, true, false, CUBLASLT_EPILOGUE_BIAS, 0},
	{"bf16", CUDA_R_16BF, CUDA_R_16BF, true, false, CUBLASLT_EPILOGUE_RELU_BIAS, 0},
	{"bf16 to float", CUDA_R_16BF, CUDA_R_32F, false, true, CUBLASLT_EPILOGUE_BGRADA, 0},
	{"fp16", CUDA_R_16F, CUDA_R_16F, true, true, CUBLASLT_EPILOGUE_RELU, 0},
	{"fp16 to float", CUDA_R_16F, CUDA_R_32F, false, true, CUBLASLT_EPILOGUE_BGRADB, 0},
	{"added", CUDA_R_16BF, CUDA_R_32F, false, false, CUBLASLT_EPILOGUE_DEFAULT, 2},
};

static enum stored stored(cudaDataType_t type)
{
	return type == CUDA_R_16BF ? STORED_BF16 : type == CUDA_R_16F ? STORED_FP16 : STORED_FLOAT;
}

/* values (rows, columns) to the device: in column order, or turned. */
static void *put(const float *values, int rows_, int columns, bool turn, cudaDataType_t type)
{
	size_t count = (size_t)rows_ * (size_t)columns;
	void *bytes = stored_floats(count), *memory;

	for (int i = 0; i < rows_; i++)
		for (int j = 0; j < columns; j++)
			stored_set(stored(type), bytes,
				   (size_t)(turn ? i * columns + j : j * rows_ + i),
				   values[i * columns + j]);
	memory = device_copy(bytes, count * stored_bytes(stored(type)), s.stream);
	free(bytes);
	return memory;
}

static void set(cublasLtMatmulDescAttributes_t attribute, int32_t value)
{
	OK(cu.cublasLtMatmulDescSetAttribute(s.product, attribute, &value, sizeof(value)));
}

static void setup(const struct row *row)
{
	uint64_t bytes = WORKSPACE;
	float ones[M * N];

	machine_open(1, false);
	s.stream = stream_new(0);
	for (int i = 0; i < M * K; i++)
		s.values_a[i] = (float)(i * 5 % 7 - 3);
	for (int i = 0; i < K * N; i++)
		s.values_b[i] = (float)(i * 3 % 5 - 2);
	for (int i = 0; i < M; i++)
		s.bias_values[i] = (float)(i % 9 - 4);
	for (int i = 0; i < M * N; i++)
		ones[i] = 1;
	OK(cu.cublasLtCreate(&s.handle));
	OK(cu.cublasLtMatmulDescCreate(&s.product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
	s.a = put(s.values_a, M, K, row->turn_a, row->type);
	s.b = put(s.values_b, K, N, row->turn_b, row->type);
	s.d = put(ones, M, N, false, row->to);
	s.bias = put(s.bias_values, M, 1, false, row->to);
	s.workspace = device_new(WORKSPACE);
	set(CUBLASLT_MATMUL_DESC_TRANSA, row->turn_a ? CUBLAS_OP_T : CUBLAS_OP_N);
	set(CUBLASLT_MATMUL_DESC_TRANSB, row->turn_b ? CUBLAS_OP_T : CUBLAS_OP_N);
	set(CUBLASLT_MATMUL_DESC_EPILOGUE, row->epilogue);
	OK(cu.cublasLtMatmulDescSetAttribute(s.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &s.bias,
					     sizeof(s.bias)));
	OK(cu.cublasLtMatrixLayoutCreate(&s.a_layout, row->type, row->turn_a ? K : M,
					 row->turn_a ? M : K, row->turn_a ? K : M));
	OK(cu.cublasLtMatrixLayoutCreate(&s.b_layout, row->type, row->turn_b ? N : K,
					 row->turn_b ? K : N, row->turn_b ? N : K));
	OK(cu.cublasLtMatrixLayoutCreate(&s.d_layout, row->to, M, N, M));
	OK(cu.cublasLtMatmulPreferenceCreate(&s.preference));
	OK(cu.cublasLtMatmulPreferenceSetAttribute(
		s.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof(bytes)));
}

static void teardown(void)
{
	OK(cu.cudaFree(s.a));
	OK(cu.cudaFree(s.b));
	OK(cu.cudaFree(s.d));
	OK(cu.cudaFree(s.bias));
	OK(cu.cudaFree(s.workspace));
	OK(cu.cublasLtMatmulPreferenceDestroy(s.preference));
	OK(cu.cublasLtMatrixLayoutDestroy(s.a_layout));
	OK(cu.cublasLtMatrixLayoutDestroy(s.b_layout));
	OK(cu.cublasLtMatrixLayoutDestroy(s.d_layout));
	OK(cu.cublasLtMatmulDescDestroy(s.product));
	OK(cu.cublasLtDestroy(s.handle));
	OK(cu.cudaStreamDestroy(s.stream));
	machine_close();
}

static cublasStatus_t choose(cublasLtMatmulHeuristicResult_t *found, int wanted, int *count)
{
	return cu.cublasLtMatmulAlgoGetHeuristic(s.handle, s.product, s.a_layout, s.b_layout,
						 s.d_layout, s.d_layout, s.preference, wanted,
						 found, count);
}

static cublasStatus_t multiply(const void *a, const cublasLtMatmulAlgo_t *algorithm,
			       size_t workspace_bytes, float beta)
{
	const float one = 1;

	return cu.cublasLtMatmul(s.handle, s.product, &one, a, s.a_layout, s.b, s.b_layout, &beta,
				 s.d, s.d_layout, s.d, s.d_layout, algorithm, s.workspace,
				 workspace_bytes, s.stream);
}

/* One value of what there should be, before it is rounded. */
static float wanted_value(const struct row *row, int i, int j)
{
	float sum = row->beta;

	for (int l = 0; l < K; l++)
		sum += s.values_a[i * K + l] * s.values_b[l * N + j];
	if (row->epilogue & CUBLASLT_EPILOGUE_BIAS)
		sum += s.bias_values[i];
	return row->epilogue & CUBLASLT_EPILOGUE_RELU && sum < 0 ? 0 : sum;
}

static float rounded(cudaDataType_t type, float x)
{
	float kept = 0;

	stored_set(stored(type), &kept, 0, x);
	return stored_get(stored(type), &kept, 0);
}

static void check_gradient(const struct row *row)
{
	int count = row->epilogue == CUBLASLT_EPILOGUE_BGRADA ? M : N;
	float got[M];

	OK(cu.cudaMemcpyAsync(got, s.bias, sizeof(float) * (size_t)count, cudaMemcpyDeviceToHost,
			      s.stream));
	for (int i = 0; i < count; i++) {
		float sum = 0;

		for (int l = 0; l < K; l++)
			sum += count == M ? s.values_a[i * K + l] : s.values_b[l * N + i];
		ck_assert_msg(got[i] == sum, "%s: bias gradient [%d] is %g, not %g", row->name, i,
			      (double)got[i], (double)sum);
	}
}

START_TEST(products_are_their_definition)
{
	const struct row *row = &rows[_i];
	cublasLtMatmulHeuristicResult_t found[4];
	float got[M * N];
	int count;

	setup(row);
	OK(choose(found, 4, &count));
	ROW_EQ_INT(row->name, count, 3);
	OK(multiply(s.a, &found[_i % 3].algo, found[_i % 3].workspaceSize, row->beta));
	OK(cu.cudaMemcpyAsync(got, s.d, M * N * stored_bytes(stored(row->to)),
			      cudaMemcpyDeviceToHost, s.stream));
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++) {
			float is = stored_get(stored(row->to), got, (size_t)(j * M + i));
			float want = rounded(row->to, wanted_value(row, i, j));

			ck_assert_msg(is == want, "%s [%d][%d]: %g, not %g", row->name, i, j,
				      (double)is, (double)want);
		}
	if (row->epilogue == CUBLASLT_EPILOGUE_BGRADA || row->epilogue == CUBLASLT_EPILOGUE_BGRADB)
		check_gradient(row);
	teardown();
}
END_TEST

static void nothing(void)
{
}

static void gelu(void)
{
	set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_GELU);
}

static void turned(void)
{
	set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N);
}

static void other_bias(void)
{
	set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F);
}

static void device_numbers(void)
{
	set(CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE);
}

static void aligned_less(void)
{
	uint32_t bytes = 16;

	OK(cu.cublasLtMatmulPreferenceSetAttribute(
		s.preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &bytes, sizeof(bytes)));
}

/* For the row "bf16": the status of the choice, and that of the product with A moved by `moved`
 * bytes. */
static const struct refusal {
	const char *name;
	void (*undo)(void);
	cublasStatus_t chosen;
	int moved;
	cublasStatus_t status;
	const char *fault;
} refusals[] = {
	{"right", nothing, CUBLAS_STATUS_SUCCESS, 0, CUBLAS_STATUS_SUCCESS, ""},
	{"an epilogue", gelu, CUBLAS_STATUS_NOT_SUPPORTED, 0, 0, ""},
	{"sizes", turned, CUBLAS_STATUS_INVALID_VALUE, 0, 0, ""},
	{"a bias of floats", other_bias, CUBLAS_STATUS_NOT_SUPPORTED, 0, 0, ""},
	{"numbers on the device", device_numbers, CUBLAS_STATUS_INVALID_VALUE, 0, 0, ""},
	{"256 bytes", nothing, CUBLAS_STATUS_SUCCESS, 16, CUBLAS_STATUS_EXECUTION_FAILED,
	 "is not a multiple of 256"},
	{"16 bytes", aligned_less, CUBLAS_STATUS_SUCCESS, 16, CUBLAS_STATUS_EXECUTION_FAILED,
	 "bytes at byte 16 of an allocation"},
};

START_TEST(what_is_illegal_is_refused)
{
	const struct refusal *row = &refusals[_i];
	cublasLtMatmulHeuristicResult_t found;
	int count;

	setup(&rows[2]);
	row->undo();
	ROW_EQ_INT(row->name, choose(&found, 1, &count), row->chosen);
	ROW_EQ_INT(row->name, count, row->chosen == CUBLAS_STATUS_SUCCESS);
	if (count)
		ROW_EQ_INT(row->name, multiply((char *)s.a + row->moved, &found.algo, WORKSPACE, 0),
			   row->status);
	ck_assert_msg(strstr(fake_cuda_fault(), row->fault) && (*row->fault || !*fake_cuda_fault()),
		      "%s: '%s'", row->name, fake_cuda_fault());
	fake_cuda_forgive();
	teardown();
}
END_TEST

/* Results without an algorithm have a state that marks them. */
START_TEST(preferences_are_kept)
{
	cublasLtMatmulHeuristicResult_t found[4];
	uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
	uint64_t bytes = 1000;
	int count;

	setup(&rows[2]);
	OK(cu.cublasLtMatmulPreferenceSetAttribute(
		s.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof(bytes)));
	OK(choose(found, 4, &count));
	ck_assert_int_eq(count, 3);
	ck_assert_int_eq(found[0].state, CUBLAS_STATUS_NOT_SUPPORTED);
	ck_assert_int_eq(found[1].state, CUBLAS_STATUS_SUCCESS);
	OK(cu.cublasLtMatmulPreferenceSetAttribute(s.preference,
						   CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
						   &schemes, sizeof(schemes)));
	OK(choose(found, 4, &count));
	ck_assert_int_eq(found[1].state, CUBLAS_STATUS_NOT_SUPPORTED);
	ck_assert_int_eq(found[2].state, CUBLAS_STATUS_SUCCESS);
	ck_assert_int_eq(multiply(s.a, &found[1].algo, WORKSPACE, 0), CUBLAS_STATUS_NOT_SUPPORTED);
	fake_cuda_forgive();
	teardown();
}
END_TEST

START_TEST(algorithms_belong_to_their_product)
{
	cublasLtMatmulHeuristicResult_t found;
	int64_t wrong = 1;
	int count;

	setup(&rows[2]);
	OK(choose(&found, 1, &count));
	ck_assert_int_eq(multiply(s.a, &found.algo, found.workspaceSize - 1, 0),
			 CUBLAS_STATUS_INVALID_VALUE);
	ck_assert_int_eq(cu.cublasLtMatmulDescSetAttribute(s.product, CUBLASLT_MATMUL_DESC_TRANSA,
							   &wrong, sizeof(wrong)),
			 CUBLAS_STATUS_INVALID_VALUE);
	set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
	ck_assert_int_eq(multiply(s.a, &found.algo, WORKSPACE, 0), CUBLAS_STATUS_NOT_SUPPORTED);
	ck_assert(strstr(fake_cuda_fault(), "another product"));
	fake_cuda_forgive();
	teardown();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fake_cublaslt");
	TCase *tcase = tcase_create("product");

	tcase_add_loop_test(tcase, products_are_their_definition, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_loop_test(tcase, what_is_illegal_is_refused, 0,
			    sizeof(refusals) / sizeof(*refusals));
	tcase_add_test(tcase, preferences_are_kept);
	tcase_add_test(tcase, algorithms_belong_to_their_product);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
