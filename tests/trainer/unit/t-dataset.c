/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "data/dataset.h"
#include "unit.h"
#include "vectors.h"

static struct dataset make(const struct dataset_synthetic *of)
{
	struct train_error error = {.status = TRAIN_OK};
	struct dataset d;

	ck_assert_msg(dataset_make(&d, of, &error), "%s", error.text);
	return d;
}

static const uint8_t *record(const struct dataset *d, int64_t i)
{
	return d->records + (size_t)i * dataset_record(&d->shape);
}

START_TEST(values_are_torchvisions)
{
	static const struct dataset_scale scales[2] = {{0.5f, 0.25f}, {0.4914f, 0.2470f}};
	struct train_error error = {.status = TRAIN_OK};
	struct dataset d = {.shape = {3, 1, 1}, .classes = 1, .samples = 1};

	ck_assert(dataset_init(&d, scales, 2, &error));
	ck_assert(d.values[0] == -2 && d.values[255] == 2);
	ck_assert(d.values[256] == -0.4914f / 0.2470f);
	ck_assert(d.values[256 + 128] == (128.f / 255 - 0.4914f) / 0.2470f);
	ck_assert(memcmp(d.values + 512, d.values, 256 * sizeof(float)) == 0);
	dataset_free(&d);
}
END_TEST

static const struct dataset_synthetic shapes[] = {
	{.shape = {3, 32, 32}, .classes = 10, .samples = 1000, .seed = 1},
	{.shape = {1024, 1, 1}, .classes = 100, .samples = 2000, .seed = 2},
	{.shape = {1, 5, 7}, .classes = 3, .samples = 3000, .seed = 3},
	{.shape = {1, 1, 1}, .classes = 1, .samples = 1, .seed = 4},
};

/* The same on every machine and in every run. */
START_TEST(synthetic_is_the_same_everywhere)
{
	static const uint64_t hashes[] = {0xfdb7e67441620c05, 0xc9d7d10d84c421b4,
					  0x789116bfac0073ab, 0x08328a07b4eb7353};
	struct dataset d = make(&shapes[_i]);
	uint64_t got =
		hash_bytes(HASH_START, d.records, (size_t)d.samples * dataset_record(&d.shape));

	ck_assert_msg(got == hashes[_i], "shape %d: %016llx", _i, (unsigned long long)got);
	dataset_free(&d);
}
END_TEST

START_TEST(a_part_continues_another)
{
	struct dataset_synthetic of = shapes[0];
	struct dataset all = make(&of), part;

	of.first = 600;
	of.samples = 400;
	part = make(&of);
	ck_assert(memcmp(part.records, record(&all, 600), 400 * dataset_record(&of.shape)) == 0);
	dataset_free(&all);
	dataset_free(&part);
}
END_TEST

/* The class whose mean over the first samples of `d` is nearest to an image. */
static int nearest(const double *means, const uint8_t *image, size_t pixels, int classes)
{
	double least = INFINITY;
	int best = 0;

	for (int k = 0; k < classes; k++) {
		double sum = 0;

		for (size_t i = 0; i < pixels; i++) {
			double apart = image[i] - means[(size_t)k * pixels + i];

			sum += apart * apart;
		}
		if (sum < least) {
			least = sum;
			best = k;
		}
	}
	return best;
}

static double *class_means(const struct dataset *d)
{
	size_t pixels = dataset_pixels(&d->shape);
	double *means = calloc((size_t)d->classes * pixels, sizeof(*means));
	int64_t counts[DATASET_MAX_CLASSES] = {0};

	ck_assert_ptr_nonnull(means);
	for (int64_t i = 0; i < d->samples; i++) {
		const uint8_t *r = record(d, i);

		ck_assert_int_lt(r[0], d->classes);
		counts[r[0]]++;
		for (size_t p = 0; p < pixels; p++)
			means[r[0] * pixels + p] += r[1 + p];
	}
	for (int k = 0; k < d->classes; k++) {
		ck_assert_int_gt(counts[k], 0);
		for (size_t p = 0; p < pixels; p++)
			means[(size_t)k * pixels + p] /= (double)counts[k];
	}
	return means;
}

/* What is learnt from one part holds for the next: the simplest classifier is nearly always right.
 */
START_TEST(classes_can_be_learnt)
{
	struct dataset_synthetic of = shapes[_i];
	struct dataset train = make(&of), test;
	double *means = class_means(&train);
	size_t pixels = dataset_pixels(&of.shape);
	int right = 0;

	of.first = of.samples;
	of.samples = 200;
	test = make(&of);
	for (int64_t i = 0; i < test.samples; i++)
		right += nearest(means, record(&test, i) + 1, pixels, of.classes) ==
			 record(&test, i)[0];
	ck_assert_msg(right >= 190, "shape %d: %d of 200 are right", _i, right);
	free(means);
	dataset_free(&train);
	dataset_free(&test);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("dataset");
	TCase *tests = tcase_create("dataset");

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, values_are_torchvisions);
	tcase_add_loop_test(tests, synthetic_is_the_same_everywhere, 0, ROWS(shapes));
	tcase_add_test(tests, a_part_continues_another);
	tcase_add_loop_test(tests, classes_can_be_learnt, 0, 2);
	return unit_run(suite);
}
