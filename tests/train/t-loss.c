/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "optim/loss.h"
#include "unit.h"

enum { SAMPLES = 10, CLASSES = 7 };

/* PyTorch's loss of one sample. */
static const struct {
	float logits[3];
	uint8_t label;
	double loss;
	int correct;
} rows[] = {
	{{1, 2, 3}, 2, 0.40760594606399536, 1},
	{{0, 0, 0}, 0, 1.0986123085021973, 1}, /* the first of equals */
	{{0, 0, 0}, 2, 1.0986123085021973, 0},
	{{-100, 100, 50}, 1, 0, 1},
	{{1000, 0, -1000}, 1, 1000, 0},
	{{1000, 0, -1000}, 2, 2000, 0},
	{{0, -INFINITY, 0}, 0, 0.69314718246459961, 1},
	{{0, -INFINITY, 0}, 1, INFINITY, 0},
};

START_TEST(losses_as_pytorch)
{
	struct loss_batch batch = {rows[_i].logits, &rows[_i].label, 1, 3, 1, 1};
	struct loss_result got = loss_cross_entropy(&batch, NULL);

	ck_assert_msg(got.loss == rows[_i].loss || fabs(got.loss / rows[_i].loss - 1) <= 1e-6,
		      "row %d: %.17g", _i, got.loss);
	ck_assert_int_eq(got.correct, rows[_i].correct);
}
END_TEST

START_TEST(what_is_not_finite_spreads)
{
	static const float bad[] = {NAN, INFINITY};

	for (int b = 0; b < 2; b++)
		for (int at = 0; at < 3; at++)
			for (uint8_t label = 0; label < 3; label++) {
				float logits[3] = {0, 1, 2};
				struct loss_batch batch = {logits, &label, 1, 3, 1, 1};

				logits[at] = bad[b];
				ck_assert(isnan(loss_cross_entropy(&batch, logits).loss));
				ck_assert(isnan(logits[0]) && isnan(logits[1]) && isnan(logits[2]));
			}
}
END_TEST

static void fill(float *logits, uint8_t *labels)
{
	for (int i = 0; i < SAMPLES * CLASSES; i++)
		logits[i] = (float)(i * 37 % 53 - 26) / 8;
	for (int i = 0; i < SAMPLES; i++)
		labels[i] = (uint8_t)(i * 3 % CLASSES);
}

/* The sum of all samples' losses, in double. */
static double whole_loss(const double *logits, const uint8_t *labels)
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
	const double h = 1e-5, count = 17, scale = 8;
	uint8_t labels[SAMPLES];
	struct loss_batch batch = {logits, labels, SAMPLES, CLASSES, (int64_t)count, (float)scale};
	struct loss_result got;

	fill(logits, labels);
	for (int i = 0; i < SAMPLES * CLASSES; i++)
		x[i] = (double)logits[i];
	got = loss_cross_entropy(&batch, gradient);
	ck_assert_double_eq_tol(got.loss, whole_loss(x, labels) / count, 1e-6);
	for (int i = 0; i < SAMPLES * CLASSES; i++) {
		double up, down, want;

		x[i] = (double)logits[i] + h;
		up = whole_loss(x, labels);
		x[i] = (double)logits[i] - h;
		down = whole_loss(x, labels);
		x[i] = (double)logits[i];
		want = (up - down) / (2 * h) / count * scale;
		ck_assert_msg(fabs((double)gradient[i] - want) <= 1e-7, "%d: %g, not %g", i,
			      (double)gradient[i], want);
	}
}
END_TEST

/* Uneven shares of ten samples over ranks, one of them empty, are the whole's, to the bit. */
START_TEST(shares_add_up)
{
	static const int64_t shares[] = {3, 3, 0, 3, 1};
	float logits[SAMPLES * CLASSES], whole[SAMPLES * CLASSES], part[SAMPLES * CLASSES];
	uint8_t labels[SAMPLES];
	struct loss_batch batch = {logits, labels, SAMPLES, CLASSES, SAMPLES, 1};
	struct loss_result all, sum = {0};
	int64_t at = 0;

	fill(logits, labels);
	all = loss_cross_entropy(&batch, whole);
	for (size_t s = 0; s < sizeof(shares) / sizeof(*shares); at += shares[s++]) {
		struct loss_result got;

		batch.logits = logits + at * CLASSES;
		batch.labels = labels + at;
		batch.samples = shares[s];
		got = loss_cross_entropy(&batch, part + at * CLASSES);
		sum.loss += got.loss;
		sum.correct += got.correct;
	}
	ck_assert_mem_eq(whole, part, sizeof(whole));
	ck_assert_double_eq_tol(sum.loss, all.loss, 1e-15);
	ck_assert_int_eq(sum.correct, all.correct);
	ck_assert_int_gt(all.correct, 0);
	ck_assert_int_lt(all.correct, SAMPLES);
}
END_TEST

START_TEST(gradient_may_replace_logits)
{
	float logits[SAMPLES * CLASSES], gradient[SAMPLES * CLASSES];
	uint8_t labels[SAMPLES];
	struct loss_batch batch = {logits, labels, SAMPLES, CLASSES, SAMPLES, 1};

	fill(logits, labels);
	loss_cross_entropy(&batch, gradient);
	loss_cross_entropy(&batch, logits);
	ck_assert_mem_eq(logits, gradient, sizeof(logits));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loss");
	TCase *tests = tcase_create("loss");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, losses_as_pytorch, 0, sizeof(rows) / sizeof(*rows));
	tcase_add_test(tests, what_is_not_finite_spreads);
	tcase_add_test(tests, gradient_is_the_derivative);
	tcase_add_test(tests, shares_add_up);
	tcase_add_test(tests, gradient_may_replace_logits);
	return unit_run(suite);
}
