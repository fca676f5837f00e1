/* SPDX-License-Identifier: MIT */
/* Every allocation fails once: then there is one message, and nothing is left behind. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data/cifar10.h"
#include "data/sampler.h"
#include "failing_malloc.h"
#include "unit.h"
#include "vectors.h"

static char folder[] = "/tmp/cifar10-XXXXXX";
static char path[64];

static bool use_sampler(struct train_error *error)
{
	static const struct sampler_options options = {.samples = 100, .ranks = 3, .batch = 4};
	struct sampler sampler;

	if (!sampler_init(&sampler, &options, error))
		return false;
	sampler_free(&sampler);
	return true;
}

static bool use_synthetic(struct train_error *error)
{
	static const struct dataset_synthetic of = {.shape = {2, 3, 4}, .classes = 5, .samples = 6};
	struct dataset dataset;

	if (!dataset_make(&dataset, &of, error))
		return false;
	dataset_free(&dataset);
	return true;
}

static bool use_cifar10(struct train_error *error)
{
	struct dataset dataset;

	if (!cifar10_read(&dataset, folder, CIFAR10_TEST, 1, error))
		return false;
	dataset_free(&dataset);
	return true;
}

static bool (*const uses[])(struct train_error *error) = {use_sampler, use_synthetic, use_cifar10};

static void set_up(void)
{
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/test_batch.bin", folder);
	file = fopen(path, "wb");
	ck_assert_ptr_nonnull(file);
	for (int i = 0; i < CIFAR10_RECORD; i++)
		fputc(0, file);
	ck_assert_int_eq(fclose(file), 0);
}

static void tear_down(void)
{
	remove(path);
	rmdir(folder);
}

START_TEST(every_allocation_fails)
{
	bool failed = true;
	size_t n = 0;

	while (failed) {
		struct train_error error = {.status = TRAIN_OK};
		bool done;

		allocations_fail_at(++n);
		done = uses[_i](&error);
		allocations_fail_at(0);
		failed = allocations_failed();
		ck_assert_int_eq(done, !failed);
		ck_assert_int_eq(error.status, failed ? TRAIN_FAILED : TRAIN_OK);
		ck_assert(!failed || strstr(error.text, "out of memory, for the ") == error.text);
	}
	ck_assert_uint_gt(n, 1);
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tests;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("data-nomem");
	tests = tcase_create("data-nomem");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_loop_test(tests, every_allocation_fails, 0, ROWS(uses));
	return unit_run(suite);
}
