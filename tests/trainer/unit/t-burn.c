/* SPDX-License-Identifier: MIT */
/* What a burn test concludes, and what it prints. */
#include <stdlib.h>
#include <string.h>

#include "nvml_api.h"
#include "report/burn.h"
#include "unit.h"

enum { MOST = 5 };

/* A device with these bits, or with a rate. */
#define BITS(HASH) .behind = 0.1, .rate = 100, .checks = 10, .hash = (HASH)
#define RATE(RATE) .behind = 0.1, .rate = (RATE), .checks = 1, .hash = 7
#define GOOD BITS(7)
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
	 {BURNED(GOOD, .name = "A"),
	  BURNED(.rate = 10, .behind = 0.1, .checks = 3, .hash = 8, .name = "B")},
	 {0, 0}},
	{"just fast enough", 3, {BURNED(GOOD), BURNED(RATE(90.1)), BURNED(GOOD)}, {0}},
	{"too slow", 3, {BURNED(GOOD), BURNED(RATE(89.9)), BURNED(GOOD)}, {0, BURN_SLOW, 0}},
	{"one that is fast does not make others slow",
	 4,
	 {BURNED(GOOD), BURNED(RATE(200)), BURNED(GOOD), BURNED(GOOD)},
	 {0, 0, 0, 0}},
	{"the slower of two", 2, {BURNED(GOOD), BURNED(RATE(80))}, {0, BURN_SLOW}},
	{"a simulated device may be slower",
	 2,
	 {BURNED(GOOD), BURNED(.behind = 0.4, .rate = 80, .checks = 1, .hash = 7)},
	 {0, 0}},
	{"memory errors, heat and a lost GPU",
	 4,
	 {BURNED(GOOD, .uncorrected = 1), BURNED(GOOD, .corrected = 2),
	  BURNED(GOOD, .slowed = 1, .samples = 2, .reasons = NVML_CLOCKS_HW_THERMAL),
	  BURNED(GOOD, .lost = "the GPU is lost")},
	 {BURN_MEMORY_ERRORS, BURN_CORRECTED, BURN_SLOWDOWN, BURN_LOST}},
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

static char *report_of(const struct burn_device *devices, int count, int bad)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(burn_report(out, devices, count), bad);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

START_TEST(findings_name_the_gpu)
{
	const struct burn_device devices[] = {
		BURNED(GOOD, .physical = 4, .uuid = "GPU-a", .max_celsius = 61, .min_mhz = 1410,
		       .reasons = NVML_CLOCKS_SW_POWER, .used_bytes = 3 << 20, .corrected = 0,
		       .uncorrected = 0),
		BURNED(.behind = 0.1, .rate = 50, .checks = 9, .wrong = 2, .physical = 5,
		       .max_celsius = -1, .min_mhz = -1, .used_bytes = -1, .uuid = "GPU-b",
		       .reasons = NVML_CLOCKS_HW_THERMAL | NVML_CLOCKS_HW_SLOWDOWN, .slowed = 3,
		       .samples = 4, .corrected = 1, .uncorrected = 2),
	};
	static const char *const parts[] = {
		"GPU  samples/s  checks  wrong  hottest  slowest clock  slowed by",
		"4    100.0      10      0      61 C     1410 MHz       power limit",
		"3.0 MiB  0\n",
		"2, and 1 corrected\n",
		"\nGPU 5, GPU-b; WRONG: 2 of 9 checks gave other bits than its first; 2 memory "
		"errors that were not corrected; 1 corrected memory errors; slowed down in 3 of 4 "
		"samples: heat (hardware), hardware slowdown; SLOW: 50.0 % behind the median of "
		"its equals\n",
	};
	char *text = report_of(devices, 2, 1);

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		ck_assert_msg(strstr(text, parts[i]), "'%s' is not in:\n%s", parts[i], text);
	free(text);
}
END_TEST

START_TEST(nothing_wrong_is_said)
{
	const struct burn_device devices[] = {BURNED(GOOD), BURNED(GOOD)};
	char *text = report_of(devices, 2, 0);

	ck_assert_ptr_nonnull(strstr(text, "Burn test: nothing wrong was found on 2 devices\n"));
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("burn");
	TCase *tests = tcase_create("burn");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, devices_are_judged, 0, ROWS);
	tcase_add_test(tests, findings_name_the_gpu);
	tcase_add_test(tests, nothing_wrong_is_said);
	return unit_run(suite);
}
