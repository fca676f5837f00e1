/* SPDX-License-Identifier: MIT */
/* Batch normalization and pooling of GPUs against the reference: on a GPU, or where it is
 * pretended. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "chain.h"
#include "cuda-test.h"
#ifdef FAKE_CUDA
#include "inject.h"
#endif

#define BATCH_NORM(RELU) \
	{ \
		.kind = LINK_BATCH_NORM, .relu = (RELU), .relu_backward = (RELU) \
	}

#define MAX_POOL(KERNEL, STRIDE, PAD, RELU) \
	{ \
		.kind = LINK_MAX_POOL, .kernel = (KERNEL), .stride = (STRIDE), .pad = (PAD), \
		.relu_backward = (RELU) \
	}
#define MEAN_POOL \
	{ \
		.kind = LINK_MEAN_POOL \
	}

static const struct chain chains[] = {
	{"a norm", 3, 16, 5, 4, 3, {BATCH_NORM(false)}, 1, false},
	{"a norm with ReLU", 3, 16, 5, 4, 3, {BATCH_NORM(true)}, 1, false},
	{"a norm of padded channels", 2, 13, 6, 7, 2, {BATCH_NORM(true)}, 1, false},
	{"a norm of one channel", 4, 1, 3, 3, 4, {BATCH_NORM(false)}, 1, false},
	{"a norm of fewer rows", 5, 24, 4, 4, 3, {BATCH_NORM(true)}, 1, false},
	{"a norm of one row", 4, 8, 4, 4, 1, {BATCH_NORM(false)}, 1, false},
	{"a norm of features", 7, 20, 1, 1, 6, {BATCH_NORM(true)}, 1, false},
	{"a norm of no row", 3, 8, 4, 4, 0, {BATCH_NORM(true)}, 1, false},
	{"many channels", 2, 80, 3, 3, 2, {BATCH_NORM(true)}, 1, false},
	{"many places", 3, 8, 33, 32, 2, {BATCH_NORM(true)}, 1, false},
	{"evaluation", 3, 16, 5, 4, 2, {BATCH_NORM(false)}, 1, true},
	{"evaluation with ReLU, padded", 3, 9, 5, 4, 3, {BATCH_NORM(true)}, 1, true},
	{"two norms", 3, 12, 5, 4, 3, {BATCH_NORM(true), BATCH_NORM(false)}, 2, false},
	{"a pooling with ReLU's derivative",
	 3,
	 12,
	 6,
	 8,
	 2,
	 {{.kind = LINK_BATCH_NORM, .relu = true}, MAX_POOL(2, 2, 0, true)},
	 2,
	 false},
	{"a pooling of 3 x 3", 3, 16, 8, 6, 2, {MAX_POOL(3, 2, 1, false)}, 1, false},
	{"a pooling of odd sizes", 2, 13, 7, 9, 2, {MAX_POOL(3, 2, 1, true)}, 1, false},
	{"a pooling of every place", 2, 8, 5, 4, 2, {MAX_POOL(3, 1, 1, false)}, 1, false},
	{"a pooling with gaps", 2, 8, 11, 12, 2, {MAX_POOL(2, 5, 1, false)}, 1, false},
	{"a pooling without padding", 2, 8, 9, 8, 2, {MAX_POOL(3, 2, 0, false)}, 1, false},
	{"a pooling side by side, padded", 2, 8, 7, 8, 2, {MAX_POOL(3, 3, 1, false)}, 1, false},
	{"ResNet's beginning",
	 3,
	 20,
	 8,
	 10,
	 2,
	 {{.kind = LINK_BATCH_NORM, .relu = true}, MAX_POOL(3, 2, 1, true)},
	 2,
	 false},
	{"means", 3, 16, 7, 7, 3, {MEAN_POOL}, 1, false},
	{"means of padded channels", 2, 13, 5, 4, 2, {MEAN_POOL}, 1, false},
	{"means of one place", 4, 24, 1, 1, 4, {MEAN_POOL}, 1, false},
	{"a norm and means", 3, 20, 4, 4, 2, {BATCH_NORM(true), MEAN_POOL}, 2, false},
};
enum { CHAINS = sizeof(chains) / sizeof(*chains) };

/* The greatest difference, relative to the greatest value that is wanted. */
static const struct {
	enum value_type type;
	double far, tolerance;
} types[] = {
	{VALUE_FLOAT32, 0, 2e-6},
	{VALUE_FLOAT32, 1000, 5e-5}, /* the mean's last bit */
	{VALUE_FLOAT16, 0, 2e-3},
	{VALUE_BFLOAT16, 0, 1.2e-2},
};
enum { TYPES = sizeof(types) / sizeof(*types) };

static void expect(const struct chain *c, int type, const char *what, const double *got,
		   const double *want, int64_t count)
{
	double max = 0, scale = 1e-30;

	for (int64_t i = 0; i < count; i++) {
		double d = fabs(got[i] - want[i]);

		max = d > max || isnan(d) ? (isnan(d) ? (double)INFINITY : d) : max;
		scale = fmax(scale, fabs(want[i]));
	}
	ck_assert_msg(max <= types[type].tolerance * scale,
		      "%s, %s, %g from zero: %s differs by %g", c->name,
		      value_name(types[type].type), types[type].far, what, max / scale);
}

static struct chain_result run(const struct chain *c, const struct backend *backend, int type)
{
	struct train_error error = {.status = TRAIN_OK};
	struct chain_result result;

	ck_assert_msg(chain_run(&result, c, backend, types[type].type, types[type].far, &error),
		      "%s: %s", c->name, error.text);
	return result;
}

START_TEST(chains_are_the_reference)
{
	const struct chain *c = &chains[_i / TYPES];
	int type = _i % TYPES;
	struct chain_result got, want = run(c, &backend_reference, type);

	cuda_test_begin();
	got = run(c, &backend_cuda, type);
	cuda_test_end(c->name);
	ck_assert_int_eq(got.outputs, want.outputs);
	ck_assert_int_eq(got.inputs, want.inputs);
	expect(c, type, "output", got.output, want.output, want.outputs);
	expect(c, type, "running mean", got.running_mean, want.running_mean, c->channels);
	expect(c, type, "running variance", got.running_var, want.running_var, c->channels);
	if (!c->evaluates) {
		expect(c, type, "input's gradient", got.input_gradient, want.input_gradient,
		       want.inputs);
		expect(c, type, "weight's gradient", got.weight_gradient, want.weight_gradient,
		       c->channels);
		expect(c, type, "bias's gradient", got.bias_gradient, want.bias_gradient,
		       c->channels);
	}
	chain_free(&got);
	chain_free(&want);
}
END_TEST

#ifdef FAKE_CUDA
static const struct chain failing = {
	"one that fails",
	3,
	12,
	6,
	8,
	2,
	{{.kind = LINK_BATCH_NORM, .relu = true}, MAX_POOL(3, 2, 1, true), MEAN_POOL},
	3,
	false,
};

/* A call that frees something may fail silently, because nothing depends on it any more. */
static bool may_be_silent(enum cuda_call call)
{
	const char *name = cuda_call_name(call);

	return strstr(name, "Destroy") || strstr(name, "Free") || call == CUDA_CALL_cudaSetDevice ||
	       call == CUDA_CALL_cudaStreamSynchronize;
}

static bool is_told(enum cuda_call call, const char *text)
{
	return strstr(text, cuda_call_name(call)) || strstr(text, "no memory") ||
	       strstr(text, "no GPU: ");
}

/* Runs with the at-th call failing. False: there are not so many. */
static bool fail_at(int at)
{
	const struct chain *c = &failing;
	struct train_error error = {.status = TRAIN_OK};
	char text[FAKE_CUDA_TEXT];
	struct chain_result result;
	enum cuda_call call;
	bool good, last;

	cuda_test_begin();
	inject_at((uint64_t)at, false);
	good = chain_run(&result, c, &backend_cuda, VALUE_BFLOAT16, 0, &error);
	call = inject_failed();
	inject_at(0, false);
	if (good)
		chain_free(&result);
	last = call == CUDA_CALLS;
	ck_assert_msg(last   ? good
		      : good ? may_be_silent(call)
			     : is_told(call, error.text),
		      "%s: call %d fails, of %s: '%s'", c->name, at,
		      last ? "none" : cuda_call_name(call), error.text);
	/* A device that cannot be chosen keeps what it has. */
	ck_assert_msg(fake_cuda_close(text) ||
			      (call == CUDA_CALL_cudaSetDevice && strstr(text, "not freed")),
		      "%s: call %d fails: %s", c->name, at, text);
	return !last;
}

/* Every call fails once: the reason names it, and everything is freed. */
START_TEST(calls_that_fail)
{
	int at = 1;

	while (fail_at(at))
		at++;
	ck_assert_msg(at > 100, "only %d calls", at);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("cuda-chains");
	TCase *tests = tcase_create("chains");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, chains_are_the_reference, 0, TYPES * CHAINS);
#ifdef FAKE_CUDA
	tcase_add_test(tests, calls_that_fail);
#endif
	return unit_run(suite);
}
