/* SPDX-License-Identifier: MIT */
/* The least that communication adds to a step: a queue of buckets on one stream. */
#include "bench/least.h"
#include "unit.h"

static const struct {
	const char *name;
	int count;
	double ready[4], took[4];
	double end, least;
} rows[] = {
	{"no bucket", 0, {0}, {0}, 100, 0},
	{"done before backward is", 1, {10}, {20}, 100, 0},
	{"done as backward is", 1, {10}, {90}, 100, 0},
	{"one that is ready at the end", 1, {100}, {30}, 100, 30},
	{"half of it is left", 1, {80}, {40}, 100, 20},
	{"it takes no time", 1, {100}, {0}, 100, 0},
	{"the first is hidden", 2, {40, 100}, {50, 7}, 100, 7},
	{"the second waits for the first", 2, {40, 100}, {90, 7}, 100, 37},
	{"both wait behind a long one", 3, {0, 10, 20}, {200, 5, 5}, 100, 110},
	{"the stream is idle between", 3, {0, 50, 100}, {10, 10, 10}, 100, 10},
	{"all at the end", 4, {100, 100, 100, 100}, {1, 2, 3, 4}, 100, 10},
	{"ready in another order", 2, {90, 20}, {20, 20}, 100, 30},
	{"times before the end, which is 0", 2, {-60, -1}, {55, 10}, 0, 9},
	{"ready after the end", 1, {120}, {10}, 100, 30},
};

START_TEST(queue)
{
	double least = least_exposed(rows[_i].ready, rows[_i].took, rows[_i].count, rows[_i].end);

	/* Whole numbers are exact. */
	ck_assert_msg(least == rows[_i].least, "%s: the least is %g, not %g", rows[_i].name, least,
		      rows[_i].least);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("least");
	TCase *tests = tcase_create("queue");

	tcase_add_loop_test(tests, queue, 0, sizeof(rows) / sizeof(*rows));
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
