/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/error.h"
#include "unit.h"

START_TEST(first_reason_stays)
{
	struct train_error error = {.status = TRAIN_OK};

	ck_assert(!train_fail(&error, TRAIN_BAD_INPUT, "%s: label %d", "a\nb", 11));
	ck_assert(!train_nomem(&error, "weights"));
	ck_assert_int_eq(error.status, TRAIN_BAD_INPUT);
	ck_assert_str_eq(error.text, "a\\x0ab: label 11");
}
END_TEST

START_TEST(long_texts_are_cut)
{
	struct train_error error = {.status = TRAIN_OK};
	char text[2000];

	memset(text, 1, sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	train_fail(&error, TRAIN_FAILED, "%s", text);
	ck_assert_uint_lt(strlen(error.text), sizeof(error.text));
	ck_assert(strncmp(error.text, "\\x01\\x01", 8) == 0);
}
END_TEST

static int failures;

static void count_failure(const struct train_error *error)
{
	ck_assert_str_eq(error->text, "GPU 0 is gone");
	failures++;
}

START_TEST(the_listener_is_called)
{
	struct train_error error = {.status = TRAIN_OK}, tolerated = TRAIN_TOLERATED;

	train_fail(&error, TRAIN_FAILED, "GPU %d is gone", 0);
	train_fail(&tolerated, TRAIN_FAILED, "GPU %d lacks this", 0);
	train_device_failed(&error);
	train_device_listener(count_failure, NULL);
	train_device_failed(&error);
	train_device_failed(&tolerated);
	ck_assert_int_eq(failures, 1);
	ck_assert_str_eq(tolerated.text, "GPU 0 lacks this");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("error");
	TCase *tests = tcase_create("error");

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, first_reason_stays);
	tcase_add_test(tests, long_texts_are_cut);
	tcase_add_test(tests, the_listener_is_called);
	return unit_run(suite);
}
