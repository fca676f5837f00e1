/* SPDX-License-Identifier: MIT */
/* The backends' loss: PyTorch's, its derivative, what is not finite, and shares of a batch. */
#include <math.h>

#include "backends.h"

enum { SAMPLES = 10, CLASSES = 7, ROWS = 4 };

struct losing {
	struct device *device;
	struct op *op;
	struct layout layout;
};

static struct losing losing_new(const struct backend *backend, enum value_type type,
				int64_t samples, int64_t classes)
{
	struct train_error error = {.status = TRAIN_OK};
	struct losing l = {.device = opened_with(backend, 1),
			   .layout = layout_host(type, samples, classes, 1, 1)};

	ck_assert_msg(backend->loss(&l.op, l.device, &l.layout, &error), "%s: %s", backend->name,
		      error.text);
	return l;
}

static void losing_free(struct losing *l)
{
	op_free(l->op);
	l->device->backend->close(l->device);
}

static void add_loss(const struct losing *l, const void *logits, const int32_t *labels,
		     const struct pass_control *control, void *gradient, bool overwrite,
		     struct loss_result *result)
{
	struct train_error error = {.status = TRAIN_OK};
	const struct op_args args = {.input = logits,
				     .input_gradient = gradient,
				     .labels = labels,
				     .control = control,
				     .result = result,
				     .overwrite = overwrite};

	ck_assert(l->op->calls->forward(l->op, &args, &error));
}

static struct loss_result loss_of(const struct losing *l, const void *logits, const int32_t *labels,
				  const struct pass_control *control, void *gradient)
{
	struct loss_result result = {0, 0};

	add_loss(l, logits, labels, control, gradient, false, &result);
	return result;
}

/* PyTorch's loss of one sample. */
static const struct {
	const char *name;
	float logits[3];
	int32_t label;
	double loss;
	int correct;
} rows[] = {
	{"rising", {1, 2, 3}, 2, 0.40760596444438030, 1},
	{"the first of equals", {0, 0, 0}, 0, 1.0986122886681098, 1},
	{"the last of equals", {0, 0, 0}, 2, 1.0986122886681098, 0},
	{"certain", {-100, 100, 50}, 1, 1.9287498479639178e-22, 1},
	{"wrong", {1000, 0, -1000}, 1, 1000, 0},
	{"very wrong", {1000, 0, -1000}, 2, 2000, 0},
	{"beside what cannot be", {0, -INFINITY, 0}, 0, 0.69314718055994529, 1},
	{"what cannot be", {0, -INFINITY, 0}, 1, INFINITY, 0},
};
enum { TORCH_ROWS = sizeof(rows) / sizeof(*rows) };

START_TEST(losses_as_pytorch)
{
	const struct pass_control control = {0, 1, 1};
	struct losing l = losing_new(backends[_i / TORCH_ROWS], VALUE_FLOAT32, 1, 3);
	int row = _i % TORCH_ROWS;
	struct loss_result got = loss_of(&l, rows[row].logits, &rows[row].label, &control, NULL);

	ck_assert_msg(got.loss == rows[row].loss || fabs(got.loss - rows[row].loss) <= 1e-15,
		      "%s: loss %.17g", rows[row].name, got.loss);
	ROW_EQ_INT(rows[row].name, got.correct, rows[row].correct);
	losing_free(&l);
}
END_TEST

START_TEST(what_is_not_finite_spreads)
{
	static const float bad[] = {NAN, INFINITY};
	const struct pass_control control = {0, 1, 1};
	struct losing l = losing_new(backends[_i], VALUE_FLOAT32, 1, 3);

	for (int b = 0; b < 2; b++)
		for (int at = 0; at < 3; at++)
			for (int32_t label = 0; label < 3; label++) {
				float logits[3] = {0, 1, 2};
				struct loss_result got;

				logits[at] = bad[b];
				got = loss_of(&l, logits, &label, &control, logits);
				ck_assert_msg(isnan(got.loss) && got.correct == 0,
					      "%g at %d, label %d: loss %g, %d correct",
					      (double)bad[b], at, label, got.loss,
					      (int)got.correct);
				ck_assert(isnan(logits[0]) && isnan(logits[1]) && isnan(logits[2]));
			}
	losing_free(&l);
}
END_TEST

static void fill(float *logits, int32_t *labels)
{
	for (int i = 0; i < SAMPLES * CLASSES; i++)
		logits[i] = (float)(i * 37 % 53 - 26) / 8;
	for (int i = 0; i < SAMPLES; i++)
		labels[i] = i * 3 % CLASSES;
}

/* The sum of all samples' losses, in double. */
static double whole_loss(const double *logits, const int32_t *labels)
{
	double loss = 0;

	for (int i = 0; i < SAMPLES; i++, logits += CLASSES) {
		double sum = 0;

		for (int c = 0; c < CLASSES; c++)
			sum += exp(logits[c]);
		loss += log(sum) - logits[labels[i]];
	}
	return loss;
}

START_TEST(gradient_is_the_derivative)
{
	float logits[SAMPLES * CLASSES], gradient[SAMPLES * CLASSES];
	double x[SAMPLES * CLASSES];
	const double h = 1e-5, scale = 8.0 / 17;
	const struct pass_control control = {0, SAMPLES, (float)scale};
	int32_t labels[SAMPLES];
	struct losing l = losing_new(backends[_i], VALUE_FLOAT32, SAMPLES, CLASSES);
	struct loss_result got;

	fill(logits, labels);
	for (int i = 0; i < SAMPLES * CLASSES; i++)
		x[i] = (double)logits[i];
	got = loss_of(&l, logits, labels, &control, gradient);
	ck_assert_double_eq_tol(got.loss, whole_loss(x, labels), 1e-12);
	for (int i = 0; i < SAMPLES * CLASSES; i++) {
		double up, down, want;

		x[i] = (double)logits[i] + h;
		up = whole_loss(x, labels);
		x[i] = (double)logits[i] - h;
		down = whole_loss(x, labels);
		x[i] = (double)logits[i];
		want = (up - down) / (2 * h) * scale;
		ck_assert_msg(fabs((double)gradient[i] - want) <= 1e-7, "%d: %g, not %g", i,
			      (double)gradient[i], want);
	}
	losing_free(&l);
}
END_TEST

/* Uneven shares of ten samples over ranks, one of them empty, are the whole's, to the bit. */
START_TEST(shares_add_up)
{
	static const int32_t shares[] = {3, 3, 0, 3, 1};
	float logits[SAMPLES * CLASSES], whole[SAMPLES * CLASSES], part[SAMPLES * CLASSES];
	struct pass_control control = {0, SAMPLES, 1.0f / SAMPLES};
	int32_t labels[SAMPLES];
	struct losing l = losing_new(backends[_i], VALUE_FLOAT32, SAMPLES, CLASSES);
	struct losing share = losing_new(backends[_i], VALUE_FLOAT32, 3, CLASSES);
	struct loss_result all, sum = {0, 0};
	int at = 0;

	fill(logits, labels);
	all = loss_of(&l, logits, labels, &control, whole);
	for (size_t s = 0; s < sizeof(shares) / sizeof(*shares); at += shares[s++]) {
		struct loss_result got;
		float x[3 * CLASSES] = {0}, gradient[3 * CLASSES];
		int32_t of[3] = {0};

		control.rows = shares[s];
		for (int i = 0; i < shares[s] * CLASSES; i++)
			x[i] = logits[at * CLASSES + i];
		for (int i = 0; i < shares[s]; i++)
			of[i] = labels[at + i];
		got = loss_of(&share, x, of, &control, gradient);
		sum.loss += got.loss;
		sum.correct += got.correct;
		for (int i = 0; i < 3 * CLASSES; i++)
			if (i < shares[s] * CLASSES)
				part[at * CLASSES + i] = gradient[i];
			else
				ck_assert_float_eq(gradient[i], 0);
	}
	ck_assert_mem_eq(whole, part, sizeof(whole));
	ck_assert_double_eq_tol(sum.loss, all.loss, 1e-14);
	ck_assert_int_eq(sum.correct, all.correct);
	ck_assert_int_gt(all.correct, 0);
	ck_assert_int_lt(all.correct, SAMPLES);
	losing_free(&share);
	losing_free(&l);
}
END_TEST

START_TEST(gradient_may_replace_logits)
{
	float logits[SAMPLES * CLASSES], gradient[SAMPLES * CLASSES];
	const struct pass_control control = {0, SAMPLES, 0.1f};
	int32_t labels[SAMPLES];
	struct losing l = losing_new(backends[_i], VALUE_FLOAT32, SAMPLES, CLASSES);
	struct loss_result apart, within;

	fill(logits, labels);
	apart = loss_of(&l, logits, labels, &control, gradient);
	within = loss_of(&l, logits, labels, &control, logits);
	ck_assert_mem_eq(logits, gradient, sizeof(logits));
	ck_assert_double_eq(apart.loss, within.loss);
	losing_free(&l);
}
END_TEST

START_TEST(rows_and_labels_that_do_not_count)
{
	static const int32_t labels[ROWS] = {2, 0, 3, 1}; /* the third is not a class */
	const struct pass_control control = {0, 3, 0.5f};
	double logits[ROWS * 3] = {1, 2, 3, 5, 5, 1, 0, 0, 0, 1000, -1000, 0}, gradient[ROWS * 3];
	struct losing l = losing_new(backends[_i], VALUE_FLOAT64, ROWS, 3);
	struct loss_result result = loss_of(&l, logits, labels, &control, gradient);

	/* By hand: log(e^-2 + e^-1 + 1) and log(2 + e^-4). */
	ck_assert(fabs(result.loss - (0.4076059644443804 + 0.7022633214390952)) < 1e-12);
	ck_assert_int_eq(result.correct, 2); /* of equals the first */
	for (int i = 0; i < ROWS * 3; i++) {
		double kept = logits[i], up, down;

		logits[i] = kept + 1e-6;
		up = loss_of(&l, logits, labels, &control, NULL).loss;
		logits[i] = kept - 1e-6;
		down = loss_of(&l, logits, labels, &control, NULL).loss;
		logits[i] = kept;
		ck_assert_msg(fabs(gradient[i] - 0.5 * (up - down) / 2e-6) < 1e-9,
			      "gradient %d is %g", i, gradient[i]);
		ck_assert(i < 2 * 3 || gradient[i] == 0.0);
	}
	losing_free(&l);
}
END_TEST

/* The passes of a step have one result, which the first begins. */
START_TEST(adds_to_the_result)
{
	float logits[SAMPLES * CLASSES];
	const struct pass_control control = {0, SAMPLES, 1};
	int32_t labels[SAMPLES];
	struct losing l = losing_new(backends[_i], VALUE_FLOAT32, SAMPLES, CLASSES);
	struct loss_result once, result = {0.5, 100};

	fill(logits, labels);
	once = loss_of(&l, logits, labels, &control, NULL);
	add_loss(&l, logits, labels, &control, NULL, false, &result);
	add_loss(&l, logits, labels, &control, NULL, false, &result);
	ck_assert_double_eq_tol(result.loss, 0.5 + 2 * once.loss, 1e-12);
	ck_assert_int_eq(result.correct, 100 + 2 * once.correct);
	add_loss(&l, logits, labels, &control, NULL, true, &result);
	ck_assert_double_eq(result.loss, once.loss);
	ck_assert_int_eq(result.correct, once.correct);
	losing_free(&l);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loss");
	TCase *tests = tcase_create("loss");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, losses_as_pytorch, 0, BACKENDS * TORCH_ROWS);
	tcase_add_loop_test(tests, what_is_not_finite_spreads, 0, BACKENDS);
	tcase_add_loop_test(tests, gradient_is_the_derivative, 0, BACKENDS);
	tcase_add_loop_test(tests, shares_add_up, 0, BACKENDS);
	tcase_add_loop_test(tests, adds_to_the_result, 0, BACKENDS);
	tcase_add_loop_test(tests, gradient_may_replace_logits, 0, BACKENDS);
	tcase_add_loop_test(tests, rows_and_labels_that_do_not_count, 0, BACKENDS);
	return unit_run(suite);
}
