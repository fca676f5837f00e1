/* SPDX-License-Identifier: MIT */
/* Products by cuBLASLt. Its heuristics give the algorithms, in their order. A deterministic device
 * leaves out those that sum in place, in an order that varies. */
#include "config.h"

#include <string.h>

#include "backend/cuda/product.h"

/* NVIDIA recommends this workspace for Hopper. */
enum { WORKSPACE_BYTES = 32 << 20, ALIGNMENT = 64, SUMS_ALIGNMENT = 16, TRIAL_ALIGNMENT = 256 };

/* Algorithms of each kind, with and without sums. */
enum { ASKED = 16 };

_Static_assert(2 * ASKED <= CUDA_WAYS, "all ways can be listed");

static const float one = 1, zero = 0;

static bool set(struct cuda_device *d, cublasLtMatmulDesc_t how,
		cublasLtMatmulDescAttributes_t attribute, const void *value, size_t bytes,
		struct train_error *error)
{
	return CUDA_DO(d, CUBLASLT, cublasLtMatmulDescSetAttribute, (how, attribute, value, bytes),
		       error);
}

static bool set_operation(struct cuda_device *d, cublasLtMatmulDesc_t how,
			  cublasLtMatmulDescAttributes_t attribute, bool transposed,
			  struct train_error *error)
{
	cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;

	return set(d, how, attribute, &operation, sizeof(operation), error);
}

static bool set_bias(struct cuda_device *d, cublasLtMatmulDesc_t how, const void *bias,
		     struct train_error *error)
{
	return set(d, how, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias), error);
}

static bool describe_matrix(struct cuda_device *d, cublasLtMatrixLayout_t *layout,
			    const struct cuda_matrix *m, struct train_error *error)
{
	return CUDA_DO(
		d, CUBLASLT, cublasLtMatrixLayoutCreate,
		(layout, cuda_type(m->type), (uint64_t)m->rows, (uint64_t)m->columns, m->rows),
		error);
}

/* The greatest power of two, to ALIGNMENT, that an address with this offset is a multiple of. */
static uint32_t alignment_of(size_t offset)
{
	size_t bits = offset | ALIGNMENT;

	return (uint32_t)(bits & -bits);
}

/* The bias is set before the choice, which depends on its alignment. */
static bool describe_how(struct cuda_device *d, cublasLtMatmulDesc_t *how,
			 const struct cuda_product_plan *plan, cublasLtEpilogue_t epilogue,
			 const void *bias, struct train_error *error)
{
	cublasComputeType_t compute = plan->a.type != VALUE_FLOAT32 || d->exact
					      ? CUBLAS_COMPUTE_32F
					      : CUBLAS_COMPUTE_32F_FAST_TF32;

	return CUDA_DO(d, CUBLASLT, cublasLtMatmulDescCreate, (how, compute, CUDA_R_32F), error) &&
	       set_operation(d, *how, CUBLASLT_MATMUL_DESC_TRANSA, plan->a.transposed, error) &&
	       set_operation(d, *how, CUBLASLT_MATMUL_DESC_TRANSB, plan->b.transposed, error) &&
	       set(d, *how, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue), error) &&
	       (!bias || set_bias(d, *how, bias, error));
}

/* Whether cuBLASLt computes the sums too. It does not for one row, which it supports from 12.3 on;
 * only with the usual alignment; and only if ways are timed. */
static bool may_leave_sums(const struct cuda_device *d, const struct cuda_product_plan *plan)
{
	return plan->sums && !d->deterministic && plan->b.columns > 1 &&
	       plan->sums_offset % SUMS_ALIGNMENT == 0;
}

static bool describe(struct cuda_device *d, struct cuda_product *p,
		     const struct cuda_product_plan *plan, struct train_error *error)
{
	/* The address of the sums is not known yet. Only their alignment is. */
	const void *aligned = (const void *)(uintptr_t)alignment_of(plan->sums_offset);

	return describe_how(d, &p->how, plan, plan->epilogue, plan->bias, error) &&
	       (!may_leave_sums(d, plan) ||
		describe_how(d, &p->with_sums, plan, CUBLASLT_EPILOGUE_BGRADB, aligned, error)) &&
	       describe_matrix(d, &p->a, &plan->a, error) &&
	       describe_matrix(d, &p->b, &plan->b, error) &&
	       describe_matrix(d, &p->d, &plan->d, error);
}

void cuda_product_free(struct cuda_device *d, struct cuda_product *p)
{
	cublasLtMatrixLayout_t layouts[] = {p->a, p->b, p->d};

	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i])
			CUDA_END(d, CUBLASLT, cublasLtMatrixLayoutDestroy, (layouts[i]));
	if (p->with_sums)
		CUDA_END(d, CUBLASLT, cublasLtMatmulDescDestroy, (p->with_sums));
	if (p->how)
		CUDA_END(d, CUBLASLT, cublasLtMatmulDescDestroy, (p->how));
}

/* The sums of B as it lies in memory: one of its columns is a row in row order. */
static bool sum_rows(struct cuda_device *d, const struct cuda_product *p, const void *b,
		     float *sums, struct train_error *error)
{
	const struct bias_gradient_args args = {
		.gradient = (void *)(uintptr_t)b, /* only read */
		.sums = sums,
		.scratch = d->scratch,
		.rows = p->summed.columns,
		.columns = p->summed.rows,
		.type = p->summed.type,
	};

	return CUDA_KERNEL(d, bias_gradient, &args, error);
}

static bool multiply(struct cuda_device *d, const struct cuda_product *p, const void *a,
		     const void *b, void *to, float *sums, void *workspace,
		     struct train_error *error)
{
	cublasLtMatmulDesc_t how = p->leaves_sums ? p->with_sums : p->how;

	if (p->leaves_sums && !set_bias(d, how, sums, error))
		return false;
	if (sums && !p->leaves_sums && !sum_rows(d, p, b, sums, error))
		return false;
	return CUDA_DO(d, CUBLASLT, cublasLtMatmul,
		       (d->cublaslt, how, &one, a, p->a, b, p->b, &zero, to, p->d, to, p->d,
			&p->algorithm, workspace, p->workspace, d->stream),
		       error);
}

bool cuda_product_run(struct cuda_device *d, const struct cuda_product *p, const void *a,
		      const void *b, void *to, float *sums, struct train_error *error)
{
	return cuda_use(d, error) && multiply(d, p, a, b, to, sums, d->workspace, error);
}

/* --- the choice ------------------------------------------------------------------------------ */

static bool prefer(struct cuda_device *d, cublasLtMatmulPreference_t preference,
		   cublasLtMatmulPreferenceAttributes_t attribute, uint32_t value,
		   struct train_error *error)
{
	return CUDA_DO(d, CUBLASLT, cublasLtMatmulPreferenceSetAttribute,
		       (preference, attribute, &value, sizeof(value)), error);
}

static bool set_preferences(struct cuda_device *d, cublasLtMatmulPreference_t preference,
			    const struct cuda_product_plan *plan, struct train_error *error)
{
	const uint64_t workspace = WORKSPACE_BYTES;
	uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_MASK;

	if (d->deterministic)
		schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE |
			  CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
	return CUDA_DO(d, CUBLASLT, cublasLtMatmulPreferenceSetAttribute,
		       (preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
			sizeof(workspace)),
		       error) &&
	       prefer(d, preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes, error) &&
	       prefer(d, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
		      alignment_of(plan->a.offset), error) &&
	       prefer(d, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
		      alignment_of(plan->b.offset), error) &&
	       prefer(d, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
		      alignment_of(plan->d.offset), error) &&
	       prefer(d, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
		      alignment_of(plan->d.offset), error);
}

enum { ALGORITHM_WORDS = CUDA_WAY_WORDS - 1 };

_Static_assert(sizeof(cublasLtMatmulAlgo_t) <= ALGORITHM_WORDS * sizeof(uint64_t),
	       "an algorithm is its bytes, and whether it computes the sums");

struct found {
	cublasLtMatmulHeuristicResult_t list[ASKED];
	int count;
};

static bool ask(struct cuda_device *d, struct found *found, const struct cuda_product *p,
		cublasLtMatmulDesc_t how, cublasLtMatmulPreference_t preference,
		struct train_error *error)
{
	int status = (int)d->calls->cublasLtMatmulAlgoGetHeuristic(d->cublaslt, how, p->a, p->b,
								   p->d, p->d, preference, ASKED,
								   found->list, &found->count);

	if (how == p->with_sums &&
	    (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
	     status == CUBLAS_STATUS_ARCH_MISMATCH)) {
		found->count = 0;
		return true;
	}
	return cuda_done(d, CUDA_LIBRARY_CUBLASLT, status, "cublasLtMatmulAlgoGetHeuristic", error);
}

/* A result is valid only if its `state` is success. */
static void add_way(struct cuda_ways *ways, const struct found *found, int i, bool sums)
{
	struct cuda_way *way = &ways->list[ways->count];

	if (i >= found->count || found->list[i].state != CUBLAS_STATUS_SUCCESS)
		return;
	*way = (struct cuda_way){.workspace = found->list[i].workspaceSize};
	memcpy(way->words, &found->list[i].algo, sizeof(found->list[i].algo));
	way->words[ALGORITHM_WORDS] = sums;
	/* The way with the least workspace always fits, and a plain product always runs. */
	if (ways->count++ == 0 || (!sums && (ways->known.words[ALGORITHM_WORDS] ||
					     way->workspace < ways->known.workspace)))
		ways->known = *way;
}

/* The two kinds alternate, because only the first ways are tried. */
static bool list_ways(struct cuda_device *d, struct cuda_ways *ways, const struct cuda_product *p,
		      const struct cuda_product_plan *plan, struct train_error *error)
{
	struct found plain = {.count = 0}, with_sums = {.count = 0};
	cublasLtMatmulPreference_t preference;
	bool done;

	if (!CUDA_DO(d, CUBLASLT, cublasLtMatmulPreferenceCreate, (&preference), error))
		return false;
	done = set_preferences(d, preference, plan, error) &&
	       ask(d, &plain, p, p->how, preference, error) &&
	       (!p->with_sums || ask(d, &with_sums, p, p->with_sums, preference, error));
	CUDA_END(d, CUBLASLT, cublasLtMatmulPreferenceDestroy, (preference));
	for (int i = 0; done && i < ASKED; i++) {
		add_way(ways, &plain, i, false);
		add_way(ways, &with_sums, i, true);
	}
	return done;
}

/* The addresses of the matrices in a trial. */
struct trial {
	struct cuda_device *device;
	struct cuda_product *product;
	size_t a, b, d, sums;
	bool has_sums;
};

static void take(struct cuda_product *p, const struct cuda_way *way)
{
	memcpy(&p->algorithm, way->words, sizeof(p->algorithm));
	p->workspace = way->workspace;
	p->leaves_sums = way->words[ALGORITHM_WORDS];
}

static bool run(void *argument, const struct cuda_way *way, void *operands, void *workspace,
		struct train_error *error)
{
	const struct trial *t = argument;
	unsigned char *memory = operands;

	take(t->product, way);
	return multiply(t->device, t->product, memory + t->a, memory + t->b, memory + t->d,
			t->has_sums ? (float *)(void *)(memory + t->sums) : NULL, workspace, error);
}

/* The next address in the trial's memory, with the alignment that the operand will have. */
static size_t place(size_t *end, size_t offset, size_t bytes)
{
	size_t at = (*end + TRIAL_ALIGNMENT - 1) / TRIAL_ALIGNMENT * TRIAL_ALIGNMENT +
		    alignment_of(offset) % ALIGNMENT;

	*end = at + bytes;
	return at;
}

static size_t place_matrix(size_t *end, const struct cuda_matrix *m)
{
	return place(end, m->offset, (size_t)(m->rows * m->columns) * value_bytes(m->type));
}

static struct cuda_ways new_ways(const struct cuda_device *d, const struct cuda_product_plan *plan)
{
	/* Follows the numbers of the convolutions' directions, so that no two keys are equal. */
	enum { PRODUCTS = 16 };
	uint64_t sums = plan->sums ? alignment_of(plan->sums_offset) : 0;

	return (struct cuda_ways){
		.why = TRAIN_TOLERATED,
		.what = "cuBLASLt",
		.key = {PRODUCTS + (uint64_t)plan->number, (uint64_t)plan->a.type,
			(uint64_t)plan->d.type, d->exact, (uint64_t)plan->epilogue | sums << 32,
			(uint64_t)plan->a.rows, (uint64_t)plan->a.columns, (uint64_t)plan->b.rows,
			(uint64_t)plan->b.columns, alignment_of(plan->a.offset),
			alignment_of(plan->b.offset), alignment_of(plan->d.offset)},
	};
}

bool cuda_product_plan(struct cuda_device *d, struct cuda_product *p,
		       const struct cuda_product_plan *plan, struct train_error *error)
{
	struct cuda_ways ways = new_ways(d, plan);
	struct trial t = {.device = d, .product = p, .has_sums = plan->sums};
	struct cuda_way way;

	t.a = place_matrix(&ways.operands, &plan->a);
	t.b = place_matrix(&ways.operands, &plan->b);
	t.d = place_matrix(&ways.operands, &plan->d);
	if (plan->sums)
		t.sums = place(&ways.operands, plan->sums_offset,
			       (size_t)plan->b.rows * sizeof(float));
	p->summed = plan->b;
	ways.run = run;
	ways.argument = &t;
	if (!describe(d, p, plan, error) || !list_ways(d, &ways, p, plan, error) ||
	    !cuda_choose(d, &ways, &way, error))
		return false;
	take(p, &way);
	return cuda_want_workspace(d, way.workspace, error);
}
