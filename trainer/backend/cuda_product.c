/* SPDX-License-Identifier: MIT */
/* Products by cuBLASLt. Algorithms are those that its heuristics find, in their order; of a
 * deterministic device without those that sum in place, by turns that may come in any order. */
#include "config.h"

#include <string.h>

#include "backend/cuda_product.h"

/* What NVIDIA advises for Hopper, and what cudaMalloc() and the trainer's flat buffers and
 * activations are aligned to. */
enum { WORKSPACE_BYTES = 32 << 20, ALIGNMENT = 64, TRIAL_ALIGNMENT = 256 };

static const float one = 1, zero = 0;

static bool set(struct cuda_device *d, cublasLtMatmulDesc_t how,
		cublasLtMatmulDescAttributes_t attribute, const void *value, size_t bytes,
		struct train_error *error)
{
	return CUDA_DO(d, CUBLASLT, cublasLtMatmulDescSetAttribute, (how, attribute, value, bytes),
		       error);
}

static bool set_operation(struct cuda_device *d, struct cuda_product *p,
			  cublasLtMatmulDescAttributes_t attribute, bool transposed,
			  struct train_error *error)
{
	cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;

	return set(d, p->how, attribute, &operation, sizeof(operation), error);
}

static bool describe_matrix(struct cuda_device *d, cublasLtMatrixLayout_t *layout,
			    const struct cuda_matrix *m, struct train_error *error)
{
	return CUDA_DO(
		d, CUBLASLT, cublasLtMatrixLayoutCreate,
		(layout, cuda_type(m->type), (uint64_t)m->rows, (uint64_t)m->columns, m->rows),
		error);
}

/* The bias before the choice, which depends on its alignment. */
static bool describe(struct cuda_device *d, struct cuda_product *p,
		     const struct cuda_product_plan *plan, struct train_error *error)
{
	cublasComputeType_t compute = plan->a.type != VALUE_FLOAT32 || d->exact
					      ? CUBLAS_COMPUTE_32F
					      : CUBLAS_COMPUTE_32F_FAST_TF32;

	return CUDA_DO(d, CUBLASLT, cublasLtMatmulDescCreate, (&p->how, compute, CUDA_R_32F),
		       error) &&
	       set_operation(d, p, CUBLASLT_MATMUL_DESC_TRANSA, plan->a.transposed, error) &&
	       set_operation(d, p, CUBLASLT_MATMUL_DESC_TRANSB, plan->b.transposed, error) &&
	       set(d, p->how, CUBLASLT_MATMUL_DESC_EPILOGUE, &plan->epilogue,
		   sizeof(plan->epilogue), error) &&
	       (!plan->bias || set(d, p->how, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &plan->bias,
				   sizeof(plan->bias), error)) &&
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
	if (p->how)
		CUDA_END(d, CUBLASLT, cublasLtMatmulDescDestroy, (p->how));
}

static bool multiply(struct cuda_device *d, const struct cuda_product *p, const void *a,
		     const void *b, void *to, void *workspace, struct train_error *error)
{
	return CUDA_DO(d, CUBLASLT, cublasLtMatmul,
		       (d->cublaslt, p->how, &one, a, p->a, b, p->b, &zero, to, p->d, to, p->d,
			&p->algorithm, workspace, p->workspace, d->stream),
		       error);
}

bool cuda_product_run(struct cuda_device *d, const struct cuda_product *p, const void *a,
		      const void *b, void *to, struct train_error *error)
{
	return cuda_use(d, error) && multiply(d, p, a, b, to, d->workspace, error);
}

/* --- the choice --------------------------------------------------------------------------------
 */

static bool prefer(struct cuda_device *d, cublasLtMatmulPreference_t preference,
		   cublasLtMatmulPreferenceAttributes_t attribute, uint32_t value,
		   struct train_error *error)
{
	return CUDA_DO(d, CUBLASLT, cublasLtMatmulPreferenceSetAttribute,
		       (preference, attribute, &value, sizeof(value)), error);
}

/* The greatest power of two, to ALIGNMENT, that the matrix's address is a multiple of. */
static uint32_t alignment_of(const struct cuda_matrix *m)
{
	size_t bits = m->offset | ALIGNMENT;

	return (uint32_t)(bits & -bits);
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
		      alignment_of(&plan->a), error) &&
	       prefer(d, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
		      alignment_of(&plan->b), error) &&
	       prefer(d, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
		      alignment_of(&plan->d), error) &&
	       prefer(d, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
		      alignment_of(&plan->d), error);
}

_Static_assert(sizeof(cublasLtMatmulAlgo_t) <= CUDA_WAY_WORDS * sizeof(uint64_t),
	       "an algorithm is told by its bytes");

/* Of a result nothing means anything but where its state says so. What wants the least workspace
 * is known to fit. */
static void add_ways(struct cuda_ways *ways, const cublasLtMatmulHeuristicResult_t *found,
		     int count)
{
	for (int i = 0; i < count && ways->count < CUDA_WAYS; i++) {
		struct cuda_way *way = &ways->list[ways->count];

		if (found[i].state != CUBLAS_STATUS_SUCCESS)
			continue;
		*way = (struct cuda_way){.workspace = found[i].workspaceSize};
		memcpy(way->words, &found[i].algo, sizeof(found[i].algo));
		if (ways->count++ == 0 || way->workspace < ways->known.workspace)
			ways->known = *way;
	}
}

static bool list_ways(struct cuda_device *d, struct cuda_ways *ways, const struct cuda_product *p,
		      const struct cuda_product_plan *plan, struct train_error *error)
{
	cublasLtMatmulHeuristicResult_t found[CUDA_WAYS];
	cublasLtMatmulPreference_t preference;
	int count = 0;
	bool done;

	if (!CUDA_DO(d, CUBLASLT, cublasLtMatmulPreferenceCreate, (&preference), error))
		return false;
	done = set_preferences(d, preference, plan, error) &&
	       CUDA_DO(d, CUBLASLT, cublasLtMatmulAlgoGetHeuristic,
		       (d->cublaslt, p->how, p->a, p->b, p->d, p->d, preference, CUDA_WAYS, found,
			&count),
		       error);
	CUDA_END(d, CUBLASLT, cublasLtMatmulPreferenceDestroy, (preference));
	add_ways(ways, found, done ? count : 0);
	return done;
}

/* What it is tried with: where its matrices lie. */
struct trial {
	struct cuda_device *device;
	struct cuda_product *product;
	size_t a, b, d;
};

static void take(struct cuda_product *p, const struct cuda_way *way)
{
	memcpy(&p->algorithm, way->words, sizeof(p->algorithm));
	p->workspace = way->workspace;
}

static bool run(void *argument, const struct cuda_way *way, void *operands, void *workspace,
		struct train_error *error)
{
	const struct trial *t = argument;
	unsigned char *memory = operands;

	take(t->product, way);
	return multiply(t->device, t->product, memory + t->a, memory + t->b, memory + t->d,
			workspace, error);
}

/* Where a matrix lies behind another, aligned as it will be. */
static size_t place(const struct cuda_matrix *m, size_t *end)
{
	size_t at = (*end + TRIAL_ALIGNMENT - 1) / TRIAL_ALIGNMENT * TRIAL_ALIGNMENT +
		    alignment_of(m) % ALIGNMENT;

	*end = at + (size_t)(m->rows * m->columns) * value_bytes(m->type);
	return at;
}

static struct cuda_ways new_ways(const struct cuda_device *d, const struct cuda_product_plan *plan)
{
	/* Behind the directions of convolutions, so that no two keys meet. */
	enum { PRODUCTS = 16 };

	return (struct cuda_ways){
		.what = "cuBLASLt",
		.key = {PRODUCTS + (uint64_t)plan->number, (uint64_t)plan->a.type,
			(uint64_t)plan->d.type, d->exact, (uint64_t)plan->epilogue,
			(uint64_t)plan->a.rows, (uint64_t)plan->a.columns, (uint64_t)plan->b.rows,
			(uint64_t)plan->b.columns, alignment_of(&plan->a), alignment_of(&plan->b),
			alignment_of(&plan->d)},
	};
}

bool cuda_product_plan(struct cuda_device *d, struct cuda_product *p,
		       const struct cuda_product_plan *plan, struct train_error *error)
{
	struct cuda_ways ways = new_ways(d, plan);
	struct trial t = {.device = d, .product = p};
	struct cuda_way way;

	t.a = place(&plan->a, &ways.operands);
	t.b = place(&plan->b, &ways.operands);
	t.d = place(&plan->d, &ways.operands);
	ways.run = run;
	ways.argument = &t;
	if (!describe(d, p, plan, error) || !list_ways(d, &ways, p, plan, error) ||
	    !cuda_choose(d, &ways, &way, error))
		return false;
	take(p, &way);
	return cuda_want_workspace(d, way.workspace, error);
}
