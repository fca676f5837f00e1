/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "data/sampler.h"
#include "unit.h"
#include "vectors.h"

enum { ROOM = 64 };

static struct sampler make(const struct sampler_options *options)
{
	struct train_error error = {.status = TRAIN_OK};
	struct sampler sampler;

	ck_assert_msg(sampler_init(&sampler, options, &error), "%s", error.text);
	return sampler;
}

/* PyTorch's DistributedSampler(seed=0), epoch 0: what each rank takes, all its batches. */
static const struct {
	const char *name;
	struct sampler_options options;
	int64_t steps;
	int64_t taken[8][5]; /* by rank; ended by -1 */
} orders[] = {
	{"padded",
	 {.samples = 10, .ranks = 4, .batch = 2},
	 2,
	 {{4, 3, 6, -1}, {1, 9, 2, -1}, {7, 0, 4, -1}, {5, 8, 1, -1}}},
	{"dropped",
	 {.tail = SAMPLER_DROP, .samples = 10, .ranks = 4, .batch = 2},
	 1,
	 {{4, 3, -1}, {1, 9, -1}, {7, 0, -1}, {5, 8, -1}}},
	{"short",
	 {.tail = SAMPLER_SHORT, .samples = 10, .ranks = 4, .batch = 2},
	 2,
	 {{4, 3, 6, -1}, {1, 9, 2, -1}, {7, 0, -1}, {5, 8, -1}}},
	{"padded several times",
	 {.samples = 3, .ranks = 8, .batch = 1},
	 1,
	 {{2, -1}, {0, -1}, {1, -1}, {2, -1}, {0, -1}, {1, -1}, {2, -1}, {0, -1}}},
	{"some ranks have none",
	 {.order = SAMPLER_IN_ORDER, .tail = SAMPLER_SHORT, .samples = 5, .ranks = 4, .batch = 1},
	 2,
	 {{0, 4, -1}, {1, -1}, {2, -1}, {3, -1}}},
	{"whole batches",
	 {.order = SAMPLER_IN_ORDER, .drop_last = true, .samples = 10, .ranks = 2, .batch = 2},
	 2,
	 {{0, 2, 4, 6, -1}, {1, 3, 5, 7, -1}}},
	{"padded, in whole batches",
	 {.order = SAMPLER_IN_ORDER, .drop_last = true, .samples = 7, .ranks = 2, .batch = 2},
	 2,
	 {{0, 2, 4, 6, -1}, {1, 3, 5, 0, -1}}},
	{"dropped, the last batch kept",
	 {.order = SAMPLER_IN_ORDER, .tail = SAMPLER_DROP, .samples = 7, .ranks = 2, .batch = 2},
	 2,
	 {{0, 2, 4, -1}, {1, 3, 5, -1}}},
	{"dropped, in whole batches",
	 {.order = SAMPLER_IN_ORDER,
	  .tail = SAMPLER_DROP,
	  .drop_last = true,
	  .samples = 7,
	  .ranks = 2,
	  .batch = 2},
	 1,
	 {{0, 2, -1}, {1, 3, -1}}},
	{"one of each", {.samples = 1, .ranks = 1, .batch = 100}, 1, {{0, -1}}},
};

START_TEST(order)
{
	const char *name = orders[_i].name;
	struct sampler s = make(&orders[_i].options);

	ROW_EQ_INT(name, s.steps, orders[_i].steps);
	for (int64_t rank = 0; rank < s.options.ranks; rank++) {
		int64_t taken[ROOM], n = 0;

		for (int64_t step = 0; step < s.steps; step++)
			n += sampler_batch(&s, rank, step, taken + n).count;
		taken[n] = -1;
		for (int64_t i = 0; i <= n; i++)
			ROW_EQ_INT(name, taken[i], orders[_i].taken[rank][i]);
	}
	sampler_free(&s);
}
END_TEST

/*
 * As PyTorch documents it, step by step. DistributedSampler's drop_last=True: "the sampler will
 * drop the tail of the data to make it evenly divisible across the number of replicas", else it
 * adds samples from the front; a rank takes every ranks-th from its own on. DataLoader's: "drop the
 * last incomplete batch, if the dataset size is not divisible by the batch size", here of what the
 * rank takes. Returns how many samples the rank's batches have, and *steps batches.
 */
static int64_t of_pytorch(const struct sampler_options *o, const int64_t *row, int64_t rank,
			  int64_t *taken, int64_t *steps)
{
	int64_t total, mine = 0;

	if (o->tail == SAMPLER_DROP)
		total = o->samples / o->ranks * o->ranks;
	else
		total = (o->samples + o->ranks - 1) / o->ranks * o->ranks;
	for (int64_t position = rank; position < total; position += o->ranks)
		taken[mine++] = row[position % o->samples];
	*steps = mine / o->batch;
	if (o->drop_last)
		return *steps * o->batch;
	*steps += mine % o->batch > 0;
	return mine;
}

static void check_rank(const struct sampler *s, int64_t rank)
{
	const struct sampler_options *o = &s->options;
	int64_t wanted[ROOM], taken[ROOM], steps, n = 0;
	int64_t count = of_pytorch(o, s->order, rank, wanted, &steps);
	char name[120];

	snprintf(name, sizeof(name), "%lld samples, %lld ranks, batch %lld, tail %d%s, rank %lld",
		 (long long)o->samples, (long long)o->ranks, (long long)o->batch, (int)o->tail,
		 o->drop_last ? ", drop_last" : "", (long long)rank);
	ROW_EQ_INT(name, s->steps, steps);
	for (int64_t step = 0; step < s->steps; step++)
		n += sampler_batch(s, rank, step, taken + n).count;
	ROW_EQ_INT(name, n, count);
	for (int64_t i = 0; i < n; i++)
		ROW_EQ_INT(name, taken[i], wanted[i]);
}

/* Both of PyTorch's drop_last, each by itself: all four combinations. */
START_TEST(two_drop_lasts)
{
	for (int64_t n = 1; n <= 24; n++)
		for (int64_t ranks = 1; ranks <= 5; ranks++)
			for (int64_t batch = 1; batch <= 5; batch++) {
				struct train_error error = {.status = TRAIN_OK};
				struct sampler_options options = {.tail = _i & 1 ? SAMPLER_DROP
										 : SAMPLER_PAD,
								  .drop_last = _i & 2,
								  .samples = n,
								  .ranks = ranks,
								  .batch = batch};
				struct sampler s;
				int64_t taken[ROOM], row[ROOM] = {0}, steps;

				of_pytorch(&options, row, 0, taken, &steps);
				ck_assert_int_eq(sampler_init(&s, &options, &error), steps > 0);
				if (steps == 0)
					continue;
				for (int64_t rank = 0; rank < ranks; rank++)
					check_rank(&s, rank);
				sampler_free(&s);
			}
}
END_TEST

/* DataLoader(range(10), shuffle=True) after torch.manual_seed(0), epochs 0 to 2 in PyTorch 1.13.1.
 */
static const int64_t loader_orders[3][10] = {{6, 7, 1, 4, 2, 0, 9, 8, 3, 5},
					     {2, 4, 7, 0, 8, 9, 5, 3, 6, 1},
					     {7, 4, 5, 1, 9, 3, 8, 2, 0, 6}};

START_TEST(order_of_a_loader)
{
	struct sampler_options options = {
		.order = SAMPLER_RANDOM, .samples = 10, .ranks = 1, .batch = 10};
	int64_t got[10];
	struct sampler s;

	random_seed(&options.generator, 0);
	s = make(&options);
	for (int epoch = 2; epoch >= 0; epoch--) {
		sampler_set_epoch(&s, epoch);
		sampler_batch(&s, 0, 0, got);
		ck_assert(memcmp(got, loader_orders[epoch], sizeof(got)) == 0);
	}
	sampler_free(&s);
}
END_TEST

START_TEST(epochs_differ_and_come_again)
{
	struct sampler_options options = {.seed = 3, .samples = 40, .ranks = 1, .batch = 40};
	struct sampler s = make(&options), other;
	int64_t first[40], got[40];

	sampler_batch(&s, 0, 0, first);
	sampler_set_epoch(&s, 1);
	sampler_batch(&s, 0, 0, got);
	ck_assert(memcmp(got, first, sizeof(got)) != 0);
	options.seed = 4; /* seed + epoch decides */
	other = make(&options);
	sampler_batch(&other, 0, 0, first);
	ck_assert(memcmp(got, first, sizeof(got)) == 0);
	sampler_free(&s);
	sampler_free(&other);
}
END_TEST

/*
 * For any shape: a step takes the same samples at any number of ranks with the same global
 * batch; counts add up to of_all; each sample once.
 */
static void check_step(const struct sampler *s, int64_t step, int64_t *seen)
{
	int64_t ranks = s->options.ranks, count = 0, of_all = 0;
	int64_t global = ranks * s->options.batch;

	for (int64_t rank = 0; rank < ranks; rank++) {
		int64_t taken[ROOM];
		struct sampler_batch batch = sampler_batch(s, rank, step, taken);

		ck_assert(batch.count <= s->options.batch);
		for (int64_t i = 0; i < batch.count; i++) {
			int64_t position = step * global + rank + i * ranks;

			ck_assert_int_eq(taken[i], s->order[position % s->options.samples]);
			seen[taken[i]]++;
		}
		count += batch.count;
		of_all = batch.of_all;
	}
	ck_assert_int_eq(count, of_all);
}

static void check_epoch(const struct sampler_options *options)
{
	struct sampler s = make(options);
	int64_t seen[ROOM] = {0}, taken = 0, max = s.steps * options->ranks * options->batch;

	for (int64_t step = 0; step < s.steps; step++)
		check_step(&s, step, seen);
	for (int64_t i = 0; i < sampler_repeats(&s); i++)
		seen[sampler_repeated(&s, i)]--;
	for (int64_t i = 0; i < options->samples; i++) {
		ck_assert(seen[i] == 0 || seen[i] == 1);
		taken += seen[i];
	}
	if (max > s.total)
		max = s.total;
	ck_assert_int_eq(taken, max - sampler_repeats(&s));
	ck_assert_int_eq(taken, options->samples - sampler_left_out(&s));
	sampler_free(&s);
}

START_TEST(every_sample_once)
{
	for (int64_t n = 1; n <= 30; n++)
		for (int64_t ranks = 1; ranks <= 9; ranks++)
			for (int64_t batch = 1; batch <= 4; batch++)
				for (int tail = SAMPLER_PAD; tail <= SAMPLER_SHORT; tail++) {
					struct sampler_options options = {
						.tail = (enum sampler_tail)tail,
						.samples = n,
						.ranks = ranks,
						.batch = batch,
						.drop_last = _i};

					if (n >= ranks * (_i ? batch : 1) ||
					    (tail != SAMPLER_DROP && !_i))
						check_epoch(&options);
				}
}
END_TEST

static const struct {
	const char *name, *want;
	struct sampler_options options;
} bad[] = {
	{"too few for ranks",
	 "3 samples are fewer than 8 ranks, and --tail drop ",
	 {.tail = SAMPLER_DROP, .samples = 3, .ranks = 8, .batch = 1}},
	{"too few for a batch",
	 "7 samples are less than a batch of 4 on each of 2 ranks, and --drop-last ",
	 {.drop_last = true, .tail = SAMPLER_SHORT, .samples = 7, .ranks = 2, .batch = 4}},
};

START_TEST(refused)
{
	struct train_error error = {.status = TRAIN_OK};
	struct sampler s;

	ck_assert_msg(!sampler_init(&s, &bad[_i].options, &error), "%s", bad[_i].name);
	ROW_EQ_INT(bad[_i].name, error.status, TRAIN_BAD_INPUT);
	ck_assert_msg(strstr(error.text, bad[_i].want) != NULL, "%s: %s", bad[_i].name, error.text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sampler");
	TCase *tests = tcase_create("sampler");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, order, 0, ROWS(orders));
	tcase_add_test(tests, order_of_a_loader);
	tcase_add_test(tests, epochs_differ_and_come_again);
	tcase_add_loop_test(tests, two_drop_lasts, 0, 4);
	tcase_add_loop_test(tests, every_sample_once, 0, 2);
	tcase_add_loop_test(tests, refused, 0, ROWS(bad));
	return unit_run(suite);
}
