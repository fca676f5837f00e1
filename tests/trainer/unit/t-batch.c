/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <time.h>

#include "data/batch.h"
#include "data/sampler.h"
#include "unit.h"
#include "vectors.h"

/* Whether the speed of this build means anything. */
#if defined(__OPTIMIZE__) && !SANITIZED
#define AT_FULL_SPEED true
#else
#define AT_FULL_SPEED false
#endif

static struct dataset make(int channels, int height, int width, int64_t samples)
{
	struct dataset_synthetic of = {
		.shape = {channels, height, width}, .classes = 10, .samples = samples, .seed = 5};
	struct train_error error = {.status = TRAIN_OK};
	struct dataset d;

	ck_assert_msg(dataset_make(&d, &of, &error), "%s", error.text);
	return d;
}

/* One pixel, by the formula of the header. */
static float pixel(const struct dataset *d, const struct augment_place *place, int64_t sample,
		   const int *at, int width)
{
	int y = place->top + at[1];
	int x = place->left + (place->mirrored ? width - 1 - at[2] : at[2]);
	int byte = 0;

	if (y >= 0 && y < d->shape.height && x >= 0 && x < d->shape.width)
		byte = d->records[(size_t)sample * dataset_record(&d->shape) + 1 +
				  (size_t)((at[0] * d->shape.height + y) * d->shape.width + x)];
	return d->values[256 * at[0] + byte];
}

static void check_images(const struct dataset *d, const struct batch_options *o,
			 const float *images, const int64_t *indices, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		struct augment_place place = batch_place(o, &d->shape, 9, indices[i]);
		int at[3];

		for (at[0] = 0; at[0] < d->shape.channels; at[0]++)
			for (at[1] = 0; at[1] < o->height; at[1]++)
				for (at[2] = 0; at[2] < o->width; at[2]++)
					ck_assert(*images++ ==
						  pixel(d, &place, indices[i], at, o->width));
	}
}

static const struct {
	const char *name;
	int channels, height, width;
	struct batch_options options;
} cases[] = {
	{"whole", 3, 32, 32, {32, 32, false, 0}},
	{"whole, augmented", 3, 32, 32, {32, 32, true, 1}},
	{"middle", 3, 32, 32, {28, 28, false, 0}},
	{"middle, augmented", 3, 32, 32, {28, 28, true, 2}},
	{"odd sides", 2, 7, 5, {4, 3, true, 3}},
	{"smaller than the padding", 1, 2, 3, {2, 3, true, 4}},
	{"a vector", 1024, 1, 1, {1, 1, false, 0}},
	{"a vector, augmented", 64, 1, 1, {1, 1, true, 0}},
};

START_TEST(pixels)
{
	static const int64_t indices[] = {3, 0, 49, 3, 20, 21, 22, 23, 24};
	enum { COUNT = ROWS(indices) };
	struct dataset d = make(cases[_i].channels, cases[_i].height, cases[_i].width, 50);
	const struct batch_options *o = &cases[_i].options;
	size_t size = (size_t)(COUNT * cases[_i].channels * o->height * o->width);
	float *images = calloc(size + 1, sizeof(*images));
	int32_t labels[COUNT + 1];

	ck_assert_ptr_nonnull(images);
	images[size] = 77;
	labels[COUNT] = 77;
	batch_fill(images, labels, &d, o, 9, indices, COUNT);
	check_images(&d, o, images, indices, COUNT);
	for (int i = 0; i < COUNT; i++)
		ROW_EQ_INT(cases[_i].name, labels[i],
			   d.records[(size_t)indices[i] * dataset_record(&d.shape)]);
	ck_assert_msg(images[size] == 77 && labels[COUNT] == 77, "%s: too much", cases[_i].name);
	free(images);
	dataset_free(&d);
}
END_TEST

START_TEST(places_without_augmentation)
{
	static const struct dataset_shape shape = {3, 32, 32};
	const struct batch_options whole = {32, 32, false, 0}, middle = {28, 28, false, 0};
	struct augment_place place = batch_place(&whole, &shape, 1, 1);

	ck_assert(place.top == 0 && place.left == 0 && !place.mirrored);
	place = batch_place(&middle, &shape, 1, 1);
	ck_assert(place.top == 2 && place.left == 2 && !place.mirrored);
}
END_TEST

/* 9 x 9 places and two sides are all as frequent, and drawn anew in each epoch. */
START_TEST(places_are_uniform)
{
	enum { PLACES = 162, EACH = 400 };
	static const struct dataset_shape shape = {3, 32, 32};
	const struct batch_options o = {32, 32, true, 6};
	int counts[PLACES] = {0}, moved = 0;

	for (int64_t i = 0; i < PLACES * EACH; i++) {
		struct augment_place a = batch_place(&o, &shape, 0, i);
		struct augment_place b = batch_place(&o, &shape, 1, i);

		ck_assert(a.top >= -4 && a.top <= 4 && a.left >= -4 && a.left <= 4);
		counts[((a.top + 4) * 9 + a.left + 4) * 2 + a.mirrored]++;
		moved += a.top != b.top || a.left != b.left || a.mirrored != b.mirrored;
	}
	for (int i = 0; i < PLACES; i++) /* 20 is the standard deviation */
		ck_assert_msg(counts[i] > EACH - 100 && counts[i] < EACH + 100, "%d: %d", i,
			      counts[i]);
	ck_assert_int_gt(moved, PLACES * EACH * 98 / 100);
}
END_TEST

/* What ranks take together is what one takes alone, image by image. */
START_TEST(same_at_any_number_of_ranks)
{
	enum { SAMPLES = 20, PIXELS = 3 * 8 * 8, BATCH = 12 };
	struct dataset d = make(3, 8, 8, SAMPLES);
	const struct batch_options o = {8, 8, true, 8};
	static float alone[SAMPLES][PIXELS], images[BATCH][PIXELS];

	for (int64_t ranks = 1; ranks <= 4; ranks++) {
		struct sampler_options how = {.tail = SAMPLER_SHORT,
					      .samples = SAMPLES,
					      .ranks = ranks,
					      .batch = BATCH / ranks};
		struct train_error error = {.status = TRAIN_OK};
		struct sampler s;

		ck_assert(sampler_init(&s, &how, &error));
		for (int64_t step = 0; step < s.steps; step++)
			for (int64_t rank = 0; rank < ranks; rank++) {
				int64_t taken[BATCH];
				int32_t labels[BATCH];
				int64_t n = sampler_batch(&s, rank, step, taken).count;

				batch_fill(&images[0][0], labels, &d, &o, 3, taken, n);
				for (int64_t i = 0; i < n; i++) {
					if (ranks == 1)
						memcpy(alone[taken[i]], images[i],
						       sizeof(images[i]));
					ck_assert(memcmp(alone[taken[i]], images[i],
							 sizeof(images[i])) == 0);
				}
			}
		sampler_free(&s);
	}
	dataset_free(&d);
}
END_TEST

/* A pass over as many images as CIFAR-10 has, in time of the processor. */
START_TEST(fifty_thousand_in_a_second)
{
	enum { SAMPLES = 2000, BATCH = 125, PASSES = 25 };
	struct dataset d = make(3, 32, 32, SAMPLES);
	const struct batch_options o = {32, 32, _i == 1, 8};
	float *images = calloc(BATCH * 3072, sizeof(*images));
	int32_t labels[BATCH];
	int64_t indices[BATCH];
	clock_t begin = clock();

	ck_assert_ptr_nonnull(images);
	for (int64_t i = 0; i < (int64_t)SAMPLES * PASSES; i += BATCH) {
		for (int64_t j = 0; j < BATCH; j++)
			indices[j] = (i + j) * 7 % SAMPLES;
		batch_fill(images, labels, &d, &o, i, indices, BATCH);
	}
	ck_assert_int_lt((clock() - begin) * 1000 / CLOCKS_PER_SEC, 1000);
	free(images);
	dataset_free(&d);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("batch");
	TCase *tests = tcase_create("batch");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, pixels, 0, ROWS(cases));
	tcase_add_test(tests, places_without_augmentation);
	tcase_add_test(tests, places_are_uniform);
	tcase_add_test(tests, same_at_any_number_of_ranks);
	if (AT_FULL_SPEED)
		tcase_add_loop_test(tests, fifty_thousand_in_a_second, 0, 2);
	return unit_run(suite);
}
