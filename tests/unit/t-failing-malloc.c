/* SPDX-License-Identifier: MIT */
/* That failing allocations reach the library, what it links, and the C library. */
#include <expat.h>
#include <ini.h>
#include <jansson.h>
#include <string.h>

#include "gpumap.h"

#include "arena.h"
#include "failing_malloc.h"
#include "strbuf.h"
#include "unit.h"

/* Each returns whether it had the memory that it needs. */
static bool use_strdup(void)
{
	char *copy = strdup("GPU-0");

	free(copy);
	return copy;
}

static bool use_expat(void)
{
	XML_Parser parser = XML_ParserCreate(NULL);
	bool ok = parser && XML_Parse(parser, "<a b='c'/>", 10, 1) == XML_STATUS_OK;

	if (parser)
		XML_ParserFree(parser);
	return ok;
}

static bool use_jansson(void)
{
	json_t *value = json_pack("{s:[i,i]}", "visible", 2, 3);
	char *text = value ? json_dumps(value, 0) : NULL;
	bool ok = text;

	free(text);
	json_decref(value);
	return ok;
}

static bool use_strbuf(void)
{
	struct strbuf buf = {0};
	char *text;

	for (int i = 0; i < 100; i++)
		strbuf_printf(&buf, "%d,", i);
	text = strbuf_take(&buf);
	free(text);
	return text;
}

static bool use_arena(void)
{
	struct arena arena = {0};
	bool ok = true;

	for (int i = 0; i < 100 && ok; i++)
		ok = arena_alloc(&arena, 100, 10);
	arena_free(&arena);
	return ok;
}

static bool use_report(void)
{
	gpumap_report *report;

	if (gpumap_report_new(&report) < 0)
		return false;
	gpumap_report_free(report);
	return true;
}

static bool use_assume(void)
{
	gpumap_inventory *inventory;

	if (gpumap_inventory_assume(&inventory, 8, NULL) < 0)
		return false;
	gpumap_inventory_free(inventory);
	return true;
}

static const struct {
	const char *name;
	bool (*use)(void);
	bool may_recover; /* jansson 2.15 can do without one */
} users[] = {
	{"strdup", use_strdup, false}, {"expat", use_expat, false}, {"jansson", use_jansson, true},
	{"strbuf", use_strbuf, false}, {"arena", use_arena, false}, {"report", use_report, false},
	{"assume", use_assume, false},
};

START_TEST(each_allocation)
{
	size_t n, needed;
	bool ok;

	allocations_fail_at(0);
	ok = users[_i].use();
	needed = allocations_count();
	ck_assert_msg(ok, "%s: works with memory", users[_i].name);
	ck_assert_msg(needed > 0, "%s: its allocations are counted", users[_i].name);
	for (n = 1; n <= needed; n++) {
		allocations_fail_at(n);
		ok = users[_i].use();
		allocations_fail_at(0);
		ck_assert_msg(allocations_failed(), "%s: allocation %zu came", users[_i].name, n);
		ck_assert_msg(!ok || users[_i].may_recover,
			      "%s: notices that allocation %zu failed", users[_i].name, n);
	}
	ck_assert_msg(users[_i].use(), "%s: works again", users[_i].name);
}
END_TEST

static int ignore(void *data, const char *section, const char *name, const char *value)
{
	return 1;
}

/* inih has its line on the stack unless it was built otherwise: nothing to count then.
 * The asserts come last, since libcheck allocates too. */
START_TEST(inih)
{
	size_t needed, n;
	int rc;

	allocations_fail_at(0);
	rc = ini_parse_string("[a]\nb = c\n", ignore, NULL);
	needed = allocations_count();
	ck_assert_int_eq(rc, 0);
	for (n = 1; n <= needed; n++) {
		allocations_fail_at(n);
		rc = ini_parse_string("[a]\nb = c\n", ignore, NULL);
		allocations_fail_at(0);
		ck_assert_int_ne(rc, 0);
	}
}
END_TEST

int main(void)
{
	Suite *suite;
	TCase *tcase;

	if (!allocations_can_fail())
		return allocations_skip();
	suite = suite_create("failing malloc");
	tcase = tcase_create("users");
	tcase_add_loop_test(tcase, each_allocation, 0, (int)(sizeof(users) / sizeof(users[0])));
	tcase_add_test(tcase, inih);
	suite_add_tcase(suite, tcase);
	return unit_run(suite);
}
