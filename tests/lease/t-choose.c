/* SPDX-License-Identifier: MIT */
/* Which GPUs a job gets, and which are promised to the jobs before it. */
#include <stdio.h>

#include "lease/lease.h"
#include "unit.h"

enum { GPUS = 4, MAX_WISHES = 4 };

/* Wishes are "COUNT" or "COUNT:GPUS", the last one is one's own; "012" are GPUs. */
static const struct {
	const char *name, *wishes, *free_gpus, *want;
} rows[] = {
	{"one of all", "1", "0123", "0"},
	{"all", "4", "0123", "0123"},
	{"the free ones", "2", "13", "13"},
	{"not enough", "3", "13", "no"},
	{"none", "1", "", "no"},
	{"more than there are", "5", "0123", "no"},
	{"of its own", "1:23", "0123", "2"},
	{"of its own, which are in use", "1:23", "01", "no"},
	{"after one that will be served", "2 1", "0123", "2"},
	{"after one that takes the rest", "3 2", "0123", "no"},
	{"after one that waits for all", "4 1", "123", "no"},
	{"after one that waits, for GPUs that it cannot use", "2:01 2", "123", "23"},
	{"after one that waits, for more", "2:01 3", "123", "no"},
	{"all free ones are promised", "3 1", "12", "no"},
	{"after two", "2:01 1:2 1", "123", "3"},
	{"after two that need the same", "1:0 1:0 1", "0", "no"},
	{"the second is promised what the first leaves", "1:01 2:01 1:1", "01", "no"},
	{"one that can never be served takes what it can", "3:01 1", "0123", "2"},
};

static struct lease_wish read_wish(const char *text, bool usable[GPUS])
{
	const char *gpus = strchr(text, ':');

	for (int g = 0; g < GPUS; g++)
		usable[g] = !gpus || memchr(gpus, '0' + g, strcspn(gpus, " "));
	return (struct lease_wish){(size_t)(*text - '0'), usable};
}

START_TEST(choices)
{
	bool usable[MAX_WISHES][GPUS], free_gpus[GPUS], nomem;
	struct lease_wish wishes[MAX_WISHES];
	const size_t order[GPUS] = {0, 1, 2, 3};
	size_t count = 0, got[GPUS + 1];
	char text[16] = "no";

	for (const char *at = rows[_i].wishes; *at; at += strcspn(at, " "), at += *at == ' ') {
		wishes[count] = read_wish(at, usable[count]);
		count++;
	}
	for (int g = 0; g < GPUS; g++)
		free_gpus[g] = strchr(rows[_i].free_gpus, '0' + g);
	if (lease_choose(got, wishes, count, free_gpus, order, GPUS, &nomem)) {
		*text = '\0';
		for (size_t i = 0; i < wishes[count - 1].count; i++)
			snprintf(text + i, sizeof(text) - i, "%zu", got[i]);
	}
	ck_assert(!nomem);
	ROW_EQ_STR(rows[_i].name, text, rows[_i].want);
}
END_TEST

START_TEST(preference)
{
	const size_t order[GPUS] = {3, 1, 2, 0};
	const bool all[GPUS] = {true, true, true, true};
	const struct lease_wish wish = {2, all};
	size_t got[GPUS + 1];
	bool nomem;

	ck_assert(lease_choose(got, &wish, 1, all, order, GPUS, &nomem));
	ck_assert_uint_eq(got[0], 3);
	ck_assert_uint_eq(got[1], 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("choose");
	TCase *tests = tcase_create("choose");

	tcase_add_loop_test(tests, choices, 0, ARRAY_SIZE(rows));
	tcase_add_test(tests, preference);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
