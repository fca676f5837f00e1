/* SPDX-License-Identifier: MIT */
/* cuBLASLt's products: which are legal, the choice of an algorithm, the run. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "fake_cublaslt.h"
#include "fake_rows.h"
#include "fake_values.h"

/* A product that leaves sums of B too is faster up to FEW_SUMS sums, and slower with more. */
enum { WORKSPACE_ALIGNED = 256, BIAS_ALIGNED = 16, MARK = 0x5eed, FEW_SUMS = 16 };

/* In the order of the heuristics, which is not that of time. One sums in any order. */
static const struct known {
	uint32_t workspace;
	uint16_t scheme;
	float ms; /* of a run, beside the time of pretending it */
} known[] = {
	{4096, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 16},
	{256, CUBLASLT_REDUCTION_SCHEME_INPLACE, 4},
	{0, CUBLASLT_REDUCTION_SCHEME_NONE, 8},
};

enum { KNOWN = sizeof(known) / sizeof(*known) };

/* What a product is, with all that an algorithm is chosen by. */
struct problem {
	struct matrix a, b, d;
	bool turn_a, turn_b;
	int64_t m, n, k;
	int32_t epilogue;
	uint16_t bias_align; /* a power of two, to BIAS_ALIGNED */
};

/* What a cublasLtMatmulAlgo_t has. Algorithms are compared by their bytes, so it has no padding. */
struct chosen {
	uint32_t mark, align[4];
	uint16_t number, bias_align;
	int64_t m, n, k;
	uint64_t rest; /* types, transposition, epilogue */
};

_Static_assert(sizeof(struct chosen) <= sizeof(cublasLtMatmulAlgo_t), "an algorithm has no room");
_Static_assert(sizeof(struct chosen) ==
		       5 * sizeof(uint32_t) + 2 * sizeof(uint16_t) + 4 * sizeof(uint64_t),
	       "it has padding");

struct matmul {
	struct problem problem;
	const void *a, *b, *c;
	void *d, *bias, *workspace;
	float alpha, beta;
	uint32_t workspace_bytes, align[4];
	bool backwards; /* sums in another order */
	float ms;
};

static enum stored stored(cudaDataType_t type)
{
	return type == CUDA_R_16BF ? STORED_BF16 : type == CUDA_R_16F ? STORED_FP16 : STORED_FLOAT;
}

static size_t value_size(cudaDataType_t type)
{
	return stored_bytes(stored(type));
}

static bool epilogue_known(int32_t epilogue)
{
	static const int32_t all[] = {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU,
				      CUBLASLT_EPILOGUE_BIAS,    CUBLASLT_EPILOGUE_RELU_BIAS,
				      CUBLASLT_EPILOGUE_BGRADA,  CUBLASLT_EPILOGUE_BGRADB};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i] == epilogue)
			return true;
	return false;
}

/* The rows of its manual's table that have real types of 16 and 32 bits. */
static bool types_known(const struct product *p, const struct matrix *a, const struct matrix *b,
			const struct matrix *d)
{
	bool half = a->type == CUDA_R_16F || a->type == CUDA_R_16BF;

	if (p->scale_type != CUDA_R_32F || a->type != b->type || (!half && a->type != CUDA_R_32F))
		return false;
	if (p->compute_type != CUBLAS_COMPUTE_32F &&
	    p->compute_type != CUBLAS_COMPUTE_32F_PEDANTIC &&
	    (half || p->compute_type != CUBLAS_COMPUTE_32F_FAST_TF32))
		return false;
	return (d->type == a->type || d->type == CUDA_R_32F) &&
	       (p->bias_type == -1 || p->bias_type == (int32_t)d->type);
}

/* The alignment of the pointer at this moment; NULL has the greatest. */
static uint16_t bias_alignment(const void *bias)
{
	uintptr_t bits = (uintptr_t)bias | BIAS_ALIGNED;

	return (uint16_t)(bits & -bits);
}

static cublasStatus_t problem_of(struct problem *problem, cublasLtHandle_t handle,
				 cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a_layout,
				 cublasLtMatrixLayout_t b_layout, cublasLtMatrixLayout_t c_layout,
				 cublasLtMatrixLayout_t d_layout, const char *call)
{
	const struct product *p = object_get(OBJECT_PRODUCT, desc, call);
	const struct matrix *a = object_get(OBJECT_MATRIX, a_layout, call);
	const struct matrix *b = object_get(OBJECT_MATRIX, b_layout, call);
	const struct matrix *c = object_get(OBJECT_MATRIX, c_layout, call);
	const struct matrix *d = object_get(OBJECT_MATRIX, d_layout, call);

	handle = object_get(OBJECT_CUBLASLT, handle, call);
	if (!handle || !p || !a || !b || !c || !d || p->pointers != CUBLASLT_POINTER_MODE_HOST)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (((struct object *)(void *)handle)->device != device_current())
		return (cublasStatus_t)fault(CUBLAS_STATUS_INVALID_VALUE,
					     "%s: the thread's device, %d, is not the handle's",
					     call, device_current());
	*problem = (struct problem){.a = *a,
				    .b = *b,
				    .d = *d,
				    .turn_a = p->transpose[0] != CUBLAS_OP_N,
				    .turn_b = p->transpose[1] != CUBLAS_OP_N,
				    .m = d->rows,
				    .n = d->columns,
				    .epilogue = p->epilogue,
				    .bias_align = bias_alignment(p->bias)};
	problem->k = problem->turn_a ? a->rows : a->columns;
	if ((problem->turn_a ? a->columns : a->rows) != problem->m ||
	    (problem->turn_b ? b->columns : b->rows) != problem->k ||
	    (problem->turn_b ? b->rows : b->columns) != problem->n || c->type != d->type ||
	    c->rows != d->rows || c->columns != d->columns || c->leading != d->leading)
		return CUBLAS_STATUS_INVALID_VALUE;
	return types_known(p, a, b, d) && epilogue_known(p->epilogue) ? CUBLAS_STATUS_SUCCESS
								      : CUBLAS_STATUS_NOT_SUPPORTED;
}

static struct chosen chosen_for(const struct problem *p)
{
	struct chosen chosen = {
		.mark = MARK, .bias_align = p->bias_align, .m = p->m, .n = p->n, .k = p->k};

	chosen.rest = (uint64_t)p->a.type << 24 | (uint32_t)p->d.type << 16 |
		      (uint32_t)p->turn_a << 15 | (uint32_t)p->turn_b << 14 | (uint32_t)p->epilogue;
	return chosen;
}

cublasStatus_t fake_cublasLtMatmulAlgoGetHeuristic(
	cublasLtHandle_t handle, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a_layout,
	cublasLtMatrixLayout_t b_layout, cublasLtMatrixLayout_t c_layout,
	cublasLtMatrixLayout_t d_layout, cublasLtMatmulPreference_t preference, int wanted,
	cublasLtMatmulHeuristicResult_t *found, int *count)
{
	const char *call = "cublasLtMatmulAlgoGetHeuristic";
	const struct preference *p = object_get(OBJECT_PREFERENCE, preference, call);
	struct problem problem;
	struct chosen chosen;
	cublasStatus_t status =
		problem_of(&problem, handle, product, a_layout, b_layout, c_layout, d_layout, call);

	if (!p || wanted < 1 || !found || !count)
		return CUBLAS_STATUS_INVALID_VALUE;
	*count = 0;
	if (status != CUBLAS_STATUS_SUCCESS)
		return status;
	for (int i = 0; i < KNOWN && *count < wanted; i++) {
		/* An entry without an algorithm has a state that marks it; the rest of it means
		 * nothing. */
		bool good = known[i].workspace <= p->workspace &&
			    (known[i].scheme & p->schemes) == known[i].scheme;

		memset(&found[*count], 0xff, sizeof(*found));
		found[*count].state = CUBLAS_STATUS_NOT_SUPPORTED;
		if (good) {
			chosen = chosen_for(&problem);
			chosen.number = (uint16_t)i;
			memcpy(chosen.align, p->align, sizeof(chosen.align));
			memset(&found[*count], 0, sizeof(*found));
			memcpy(&found[*count].algo, &chosen, sizeof(chosen));
			found[*count].workspaceSize = known[i].workspace;
			found[*count].wavesCount = 1;
		}
		++*count;
	}
	return CUBLAS_STATUS_SUCCESS;
}

static size_t matrix_bytes(const struct matrix *m)
{
	return (size_t)((m->columns - 1) * m->leading + m->rows) * value_size(m->type);
}

/* How many values the epilogue uses beside the product; *written: it writes them. */
static int64_t bias_count(const struct problem *p, bool *written)
{
	*written =
		p->epilogue == CUBLASLT_EPILOGUE_BGRADA || p->epilogue == CUBLASLT_EPILOGUE_BGRADB;
	if (p->epilogue == CUBLASLT_EPILOGUE_BGRADB)
		return p->n;
	return *written || (p->epilogue & CUBLASLT_EPILOGUE_BIAS) ? p->m : 0;
}

static void matmul_list(const struct work *work, struct touches *touches)
{
	const struct matmul *run = (const void *)work->data;
	const struct problem *p = &run->problem;
	bool written;
	size_t bias = (size_t)bias_count(p, &written) * value_size(p->d.type);
	struct touch uses[] = {
		{run->a, matrix_bytes(&p->a), run->align[0], work->device, false},
		{run->b, matrix_bytes(&p->b), run->align[1], work->device, false},
		{run->c, run->beta != 0 ? matrix_bytes(&p->d) : 0, run->align[2], work->device,
		 false},
		{run->d, matrix_bytes(&p->d), run->align[3], work->device, true},
		{run->bias, bias, p->bias_align, work->device, written},
		{run->workspace, run->workspace_bytes, WORKSPACE_ALIGNED, work->device, true},
	};

	for (size_t i = 0; i < sizeof(uses) / sizeof(*uses); i++)
		touch(touches, &uses[i]);
}

/* op(M) as floats, dense, in column order. */
static float *load(const struct matrix *m, const void *values, bool turn)
{
	float *floats = stored_floats((size_t)(m->rows * m->columns));

	for (int64_t j = 0; j < m->columns; j++)
		for (int64_t i = 0; i < m->rows; i++)
			floats[turn ? i * m->columns + j : j * m->rows + i] =
				stored_get(stored(m->type), values, (size_t)(j * m->leading + i));
	return floats;
}

static void swap(float *x, float *y)
{
	float kept = *x;

	*x = *y;
	*y = kept;
}

SIMD_BODY void multiply(const struct problem *p, const float *a, const float *b, float *d)
{
	for (int64_t j = 0; j < p->n; j++)
		add_rows(d + j * p->m, a, (size_t)p->m, b + j * p->k, (int)p->k, (int)p->m);
}

/* Reverses the order of k. */
static void turn_around(const struct problem *p, float *a, float *b)
{
	for (int64_t l = 0; l < p->k / 2; l++) {
		int64_t other = p->k - 1 - l;

		for (int64_t i = 0; i < p->m; i++)
			swap(&a[l * p->m + i], &a[other * p->m + i]);
		for (int64_t j = 0; j < p->n; j++)
			swap(&b[j * p->k + l], &b[j * p->k + other]);
	}
}

static void multiply_plain(const struct problem *p, const float *a, const float *b, float *d)
{
	multiply(p, a, b, d);
}

static SIMD_FMA void multiply_fma(const struct problem *p, const float *a, const float *b, float *d)
{
	multiply(p, a, b, d);
}

/* The sums of op(A) or op(B) over k. */
static void store_bias_gradient(const struct matmul *run, const float *a, const float *b)
{
	const struct problem *p = &run->problem;
	bool of_a = p->epilogue == CUBLASLT_EPILOGUE_BGRADA;
	int64_t count = of_a ? p->m : p->n;

	for (int64_t i = 0; i < count; i++) {
		float sum = 0;

		for (int64_t l = 0; l < p->k; l++)
			sum += of_a ? a[l * p->m + i] : b[i * p->k + l];
		stored_set(stored(p->d.type), run->bias, (size_t)i, sum);
	}
}

static void store(const struct matmul *run, const float *sums)
{
	const struct problem *p = &run->problem;
	enum stored type = stored(p->d.type);
	bool bias = p->epilogue & CUBLASLT_EPILOGUE_BIAS,
	     relu = p->epilogue & CUBLASLT_EPILOGUE_RELU;

	for (int64_t j = 0; j < p->n; j++)
		for (int64_t i = 0; i < p->m; i++) {
			size_t at = (size_t)(j * p->d.leading + i);
			float x = run->alpha * sums[j * p->m + i];

			if (run->beta != 0)
				x += run->beta * stored_get(type, run->c, at);
			if (bias)
				x += stored_get(type, run->bias, (size_t)i);
			stored_set(type, run->d, at, relu && !(x > 0) ? 0 : x);
		}
}

static void matmul_run(struct work *work)
{
	const struct matmul *run = (const void *)work->data;
	const struct problem *p = &run->problem;
	float *a = load(&p->a, run->a, p->turn_a), *b = load(&p->b, run->b, p->turn_b);
	float *sums = stored_floats((size_t)(p->m * p->n));
	bool gradient;

	if (run->backwards)
		turn_around(p, a, b);
	(simd_has_fma() ? multiply_fma : multiply_plain)(p, a, b, sums);
	if (bias_count(p, &gradient) > 0 && gradient)
		store_bias_gradient(run, a, b);
	store(run, sums);
	if (run->workspace_bytes > 0)
		memset(run->workspace, 0xff, run->workspace_bytes);
	fake.devices[work->device].ms += (double)run->ms;
	free(a);
	free(b);
	free(sums);
}

static const struct work_kind matmul_kind = {
	.name = "matmul", .list = matmul_list, .run = matmul_run};

static float factor(const void *number)
{
	float x;

	memcpy(&x, number, sizeof(x));
	return x;
}

/* Whether the algorithm is this problem's, and has what it needs. */
static cublasStatus_t take_algorithm(struct matmul *run, const cublasLtMatmulAlgo_t *algorithm,
				     size_t workspace_bytes)
{
	struct chosen chosen, wanted = chosen_for(&run->problem);

	if (!algorithm)
		return (cublasStatus_t)fault(CUBLAS_STATUS_INVALID_VALUE,
					     "cublasLtMatmul: without an algorithm it chooses one "
					     "in every call");
	memcpy(&chosen, algorithm, sizeof(chosen));
	if (chosen.mark != MARK || chosen.number >= KNOWN || chosen.m != wanted.m ||
	    chosen.n != wanted.n || chosen.k != wanted.k || chosen.rest != wanted.rest ||
	    chosen.bias_align > wanted.bias_align)
		return (cublasStatus_t)fault(CUBLAS_STATUS_NOT_SUPPORTED,
					     "cublasLtMatmul: the algorithm is that of another "
					     "product");
	if (known[chosen.number].workspace > workspace_bytes)
		return CUBLAS_STATUS_INVALID_VALUE;
	run->workspace_bytes = known[chosen.number].workspace;
	run->ms = known[chosen.number].ms;
	if (run->problem.epilogue == CUBLASLT_EPILOGUE_BGRADB)
		run->ms *= run->problem.n > FEW_SUMS ? 4.0F : 0.25F;
	/* With counters the order of arrival decides. */
	run->backwards =
		known[chosen.number].scheme == CUBLASLT_REDUCTION_SCHEME_INPLACE && fake.runs++ % 2;
	memcpy(run->align, chosen.align, sizeof(run->align));
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t fake_cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
				   const void *alpha, const void *a,
				   cublasLtMatrixLayout_t a_layout, const void *b,
				   cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
				   cublasLtMatrixLayout_t c_layout, void *d,
				   cublasLtMatrixLayout_t d_layout,
				   const cublasLtMatmulAlgo_t *algorithm, void *workspace,
				   size_t workspace_bytes, cudaStream_t stream)
{
	struct matmul run = {.a = a, .b = b, .c = c, .d = d, .workspace = workspace};
	cublasStatus_t status = problem_of(&run.problem, handle, product, a_layout, b_layout,
					   c_layout, d_layout, "cublasLtMatmul");

	stream = stream_get(stream, "cublasLtMatmul");
	if (status == CUBLAS_STATUS_SUCCESS && (!stream || !alpha || !beta))
		status = CUBLAS_STATUS_INVALID_VALUE;
	if (status == CUBLAS_STATUS_SUCCESS)
		status = take_algorithm(&run, algorithm, workspace_bytes);
	if (status != CUBLAS_STATUS_SUCCESS)
		return status;
	run.bias = ((struct product *)(void *)product)->bias;
	run.alpha = factor(alpha);
	run.beta = factor(beta);
	return stream_put(stream, work_new(&matmul_kind, "cublasLtMatmul", &run, sizeof(run)),
			  true) == cudaSuccess
		       ? CUBLAS_STATUS_SUCCESS
		       : CUBLAS_STATUS_EXECUTION_FAILED;
}
