/* SPDX-License-Identifier: MIT */
/* What a burn test concludes, and what it prints. */
#include <stdlib.h>
#include <string.h>

#include "nvml_api.h"
#include "report/burn_judge.h"
#include "unit.h"

enum { MOST = 5 };

/* A GPU, or a device of no name. */
#define H100(HASH, RATE, CHECKS) .name = "H100", OF(HASH, RATE, CHECKS)
#define OF(HASH, RATE, CHECKS) .behind = 0.1, .rate = (RATE), .checks = (CHECKS), .hash = (HASH)
#define BITS(HASH) H100(HASH, 100, 10)
#define RATE(RATE) H100(7, RATE, 5)
#define GOOD BITS(7)
#define OTHER(HASH) OF(HASH, 10, 5)
#define BURNED(...) \
	{ \
		__VA_ARGS__ \
	}

static const struct {
	const char *name;
	int count;
	struct burn_device devices[MOST];
	unsigned findings[MOST];
} rows[] = {
	{"one good device", 1, {BURNED(GOOD)}, {0}},
	{"no check was made", 2, {BURNED(.hash = 0), BURNED(GOOD)}, {0, 0}},
	{"equal devices", 3, {BURNED(GOOD), BURNED(GOOD), BURNED(GOOD)}, {0, 0, 0}},
	{"its own bits differ",
	 3,
	 {BURNED(GOOD), BURNED(GOOD, .wrong = 1), BURNED(GOOD)},
	 {0, BURN_WRONG_BITS, 0}},
	{"a wrong one does not count among its equals",
	 3,
	 {BURNED(GOOD), BURNED(BITS(8), .wrong = 1), BURNED(BITS(9))},
	 {BURN_UNCERTAIN_BITS, BURN_WRONG_BITS, BURN_UNCERTAIN_BITS}},
	{"one of three has other bits",
	 3,
	 {BURNED(GOOD), BURNED(GOOD), BURNED(BITS(8))},
	 {0, 0, BURN_OTHER_BITS}},
	{"two of five",
	 5,
	 {BURNED(GOOD), BURNED(BITS(8)), BURNED(GOOD), BURNED(BITS(9)), BURNED(GOOD)},
	 {0, BURN_OTHER_BITS, 0, BURN_OTHER_BITS, 0}},
	{"two that differ",
	 2,
	 {BURNED(GOOD), BURNED(BITS(8))},
	 {BURN_UNCERTAIN_BITS, BURN_UNCERTAIN_BITS}},
	{"two against two",
	 4,
	 {BURNED(GOOD), BURNED(BITS(8)), BURNED(GOOD), BURNED(BITS(8))},
	 {BURN_UNCERTAIN_BITS, BURN_UNCERTAIN_BITS, BURN_UNCERTAIN_BITS, BURN_UNCERTAIN_BITS}},
	{"other GPUs may have other bits and rates",
	 2,
	 {BURNED(GOOD), BURNED(OTHER(8), .name = "H200")},
	 {0, 0}},
	{"GPUs whose model is not known", 2, {BURNED(OTHER(8)), BURNED(OTHER(7))}, {0, 0}},
	{"instances of MIG, whose size is not known",
	 3,
	 {BURNED(GOOD), BURNED(OTHER(8), .name = "H100", .uuid = "MIG-a"),
	  BURNED(OTHER(9), .name = "H100", .uuid = "MIG-b")},
	 {0, 0, 0}},
	{"an instance that repeats other bits",
	 1,
	 {BURNED(OTHER(8), .name = "H100", .uuid = "MIG-a", .wrong = 1)},
	 {BURN_WRONG_BITS}},
	{"GPUs of one model in several hosts",
	 3,
	 {BURNED(GOOD, .host = "a"), BURNED(BITS(8), .host = "b"), BURNED(GOOD, .host = "b")},
	 {0, BURN_OTHER_BITS, 0}},
	{"hosts may simulate in other bits",
	 3,
	 {BURNED(OTHER(8), .simulated = true, .host = "a"),
	  BURNED(OTHER(7), .simulated = true, .host = "b"),
	  BURNED(OTHER(7), .simulated = true, .host = "b")},
	 {0, 0, 0}},
	{"simulated in other bits",
	 3,
	 {BURNED(OTHER(8), .simulated = true), BURNED(OTHER(7), .simulated = true),
	  BURNED(OTHER(8), .simulated = true)},
	 {0, BURN_OTHER_BITS, 0}},
	{"too few checks for a speed",
	 3,
	 {BURNED(GOOD), BURNED(H100(7, 50, 4)), BURNED(GOOD)},
	 {0, 0, 0}},
	{"too few checks of its equals", 2, {BURNED(H100(7, 100, 4)), BURNED(RATE(50))}, {0, 0}},
	{"just fast enough", 3, {BURNED(GOOD), BURNED(RATE(90.1)), BURNED(GOOD)}, {0}},
	{"too slow", 3, {BURNED(GOOD), BURNED(RATE(89.9)), BURNED(GOOD)}, {0, BURN_SLOW, 0}},
	{"one that is fast does not make others slow",
	 4,
	 {BURNED(GOOD), BURNED(RATE(200)), BURNED(GOOD), BURNED(GOOD)},
	 {0, 0, 0, 0}},
	{"the slower of two", 2, {BURNED(GOOD), BURNED(RATE(80))}, {0, BURN_SLOW}},
	{"a simulated device may be slower",
	 2,
	 {BURNED(GOOD), BURNED(.name = "H100", .behind = 0.4, .rate = 80, .checks = 5, .hash = 7)},
	 {0, 0}},
	{"memory errors, heat, a lost GPU and a failed one",
	 5,
	 {BURNED(GOOD, .uncorrected = 1), BURNED(GOOD, .corrected = 2),
	  BURNED(GOOD, .slowed = 1, .samples = 2, .reasons = NVML_CLOCKS_HW_THERMAL),
	  BURNED(GOOD, .lost = "the GPU is lost"), BURNED(GOOD, .failed = true)},
	 {BURN_MEMORY_ERRORS, BURN_CORRECTED, BURN_SLOWDOWN, BURN_LOST, BURN_FAILED}},
	{"a limit of power is no finding",
	 2,
	 {BURNED(GOOD, .reasons = NVML_CLOCKS_SW_POWER), BURNED(GOOD, .uncorrected = 0)},
	 {0, 0}},
};
enum { ROWS = sizeof(rows) / sizeof(*rows) };

START_TEST(devices_are_judged)
{
	for (int i = 0; i < rows[_i].count; i++) {
		unsigned found = burn_judge(rows[_i].devices, rows[_i].count, i);

		ck_assert_msg(found == rows[_i].findings[i], "%s: device %d: %#x, not %#x",
			      rows[_i].name, i, found, rows[_i].findings[i]);
	}
}
END_TEST

static char *report_of(const struct burn_device *devices, int count, const struct burn_end *end,
		       int bad)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(burn_report(out, devices, count, end), bad);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

static const struct burn_end whole = {.steps = 9};

START_TEST(findings_name_the_gpu)
{
	const struct burn_device devices[] = {
		BURNED(GOOD, .physical = 4, .uuid = "GPU-a", .max_celsius = 61, .min_mhz = 1410,
		       .reasons = NVML_CLOCKS_SW_POWER, .used_bytes = 3 << 20, .corrected = 0,
		       .uncorrected = 0),
		BURNED(H100(7, 50, 9), .wrong = 2, .physical = 5, .max_celsius = -1, .min_mhz = -1,
		       .used_bytes = -1, .uuid = "GPU-b",
		       .reasons = NVML_CLOCKS_SW_POWER | NVML_CLOCKS_HW_THERMAL |
				  NVML_CLOCKS_HW_SLOWDOWN,
		       .slowed = 3, .samples = 4, .corrected = 1, .uncorrected = 2,
		       .lost = "the GPU is lost", .failed = true),
	};
	static const char *const parts[] = {
		"GPU  img/s  checks  wrong  hottest  min clock  memory   ECC                 "
		"slowed "
		"by\n",
		"4    100.0  10      0      61 C     1410 MHz   3.0 MiB  0                   power "
		"limit\n",
		"2, and 1 corrected ",
		"\nGPU 5, GPU-b; WRONG: 2 of 9 checks gave other bits than its first; FAILED, "
		"which ended the test; NVML: the GPU is lost; 2 uncorrected memory errors; 1 "
		"corrected memory error; slowed down in 3 of 4 samples: heat (hardware), hardware "
		"slowdown; SLOW: 50.0 % behind the median of its equals\n",
	};
	char *text = report_of(devices, 2, &whole, 1);

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		ck_assert_msg(strstr(text, parts[i]), "'%s' is not in:\n%s", parts[i], text);
	free(text);
}
END_TEST

#define UNCHECKED(CHECKS) .simulated = true, .checks = (CHECKS), .hash = 7

/* What the test as a whole says, its last line. */
static const struct {
	const char *name;
	int count;
	struct burn_device devices[2];
	struct burn_end end;
	int bad;
	const char *says;
} verdicts[] = {
	{"two good GPUs",
	 2,
	 {BURNED(GOOD), BURNED(GOOD)},
	 {.steps = 9},
	 0,
	 "nothing wrong was found on 2 devices"},
	{"a good simulated one",
	 1,
	 {BURNED(UNCHECKED(2))},
	 {.steps = 9},
	 0,
	 "nothing wrong was found on 1 simulated device"},
	{"no check",
	 1,
	 {BURNED(UNCHECKED(0))},
	 {.steps = 1},
	 0,
	 "it ended too early: 1 of 1 device made no second check, so nothing is known about what "
	 "they compute"},
	{"one check of one device",
	 2,
	 {BURNED(UNCHECKED(1)), BURNED(UNCHECKED(2))},
	 {.steps = 1},
	 0,
	 "it ended too early: 1 of 2 devices made no second check, so nothing is known about what "
	 "they compute"},
	{"an error",
	 1,
	 {BURNED(GOOD)},
	 {.failed = true},
	 0,
	 "an error ended it; the table has what was known before"},
	{"gradients that are not finite",
	 1,
	 {BURNED(GOOD)},
	 {.steps = 9, .infinite = 2},
	 1,
	 "in 2 of 9 steps the sums of gradients were not finite; a device or a transfer between "
	 "devices is at fault"},
};

START_TEST(the_verdict)
{
	char *text = report_of(verdicts[_i].devices, verdicts[_i].count, &verdicts[_i].end,
			       verdicts[_i].bad);
	const char *last = strstr(text, "Burn test: ");

	ck_assert_msg(last && strlen(last) == strlen(verdicts[_i].says) + 12 &&
			      strncmp(last + 11, verdicts[_i].says, strlen(verdicts[_i].says)) == 0,
		      "%s: %s", verdicts[_i].name, text);
	free(text);
}
END_TEST

START_TEST(a_line_says_how_a_device_is)
{
	const struct burn_device busy = {.physical = 3,
					 .host = "a",
					 .rate = 2412.4,
					 .checks = 9,
					 .wrong = 1,
					 .celsius = 61,
					 .mhz = 1410,
					 .used_bytes = 3 << 20,
					 .now_reasons = NVML_CLOCKS_SW_POWER};
	const struct burn_device silent = {.rate = 6.96,
					   .checks = 1,
					   .celsius = -1,
					   .mhz = -1,
					   .used_bytes = -1,
					   .now_reasons = -1,
					   .lost = "the GPU is lost"};
	const struct burn_device first = {
		.celsius = -1, .mhz = -1, .used_bytes = -1, .now_reasons = 0};
	char text[BURN_LINE];

	ck_assert_str_eq(burn_line(text, &busy, true),
			 "GPU 3 of a: 2412 img/s, 1 of 9 checks WRONG, 61 C, 1410 MHz, 3.0 MiB, "
			 "slowed by power limit");
	ck_assert_str_eq(burn_line(text, &silent, false),
			 "GPU 0: 7.0 img/s, NVML: the GPU is lost");
	ck_assert_str_eq(burn_line(text, &first, false), "GPU 0: no check yet");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("burn");
	TCase *tests = tcase_create("burn");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, devices_are_judged, 0, ROWS);
	tcase_add_test(tests, findings_name_the_gpu);
	tcase_add_loop_test(tests, the_verdict, 0, sizeof(verdicts) / sizeof(*verdicts));
	tcase_add_test(tests, a_line_says_how_a_device_is);
	return unit_run(suite);
}
