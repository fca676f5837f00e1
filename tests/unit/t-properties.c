/* SPDX-License-Identifier: MIT */
/* Properties of every answer, over random statements, and the cost of an answer. */
#include <jansson.h>
#include <stdio.h>
#include <time.h>

#include "draws.h"
#include "machines.h"
#include "unit.h"

enum { ROUNDS = SANITIZED ? 800 : 4000 };

static struct draws draws;

static const char *const machines[] = {
	"-",
	"0",
	"1",
	"4",
	"8xH100",
	"2xA+2xB",
	"GPU-aa00=X,GPU-ab00=X,GPU-bb00=X,GPU-cc00=X",
	"GPU-aa00=X,GPU-ab00=Y,GPU-bb00=Z",
	"fastest=2,0,1 GPU-aa00=X,GPU-ab00=Y,GPU-bb00=Z",
	"driver=515 GPU-aa00[MIG-a@1.0;MIG-b@2.0],GPU-bb00",
	"driver=580 GPU-aa00[MIG-a@1.0;MIG-b@1.1;MIG-c@2.0],GPU-bb00,GPU-cc00",
	"partial 0:GPU-aa00=X,2:GPU-ab00=X,5:GPU-bb00=Y",
};

static void draw_list(char *text, size_t room)
{
	static const char *const entries[] = {"0",      "1",     "2",     "3",    "5",  "-1",
					      "GPU-a",  "GPU-b", "MIG-a", "MIG-", "",   " 1",
					      "GPU-aa", "+2",    "0x1",   "7",    "all"};
	unsigned count = draw(&draws, 4) + 1;

	*text = '\0';
	for (unsigned i = 0; i < count; i++)
		snprintf(text + strlen(text), room - strlen(text), "%s%s", i ? "," : "",
			 DRAW(&draws, entries));
}

static void draw_statements(char *text, size_t room)
{
	char list[128];

	*text = '\0';
	for (unsigned i = draw(&draws, 3); i; i--) {
		draw_list(list, sizeof(list));
		snprintf(text + strlen(text), room - strlen(text), "%s%s%s", *text ? "|" : "",
			 DRAW(&draws, drawn_lists), list);
	}
	for (unsigned i = draw(&draws, 4); i; i--)
		snprintf(text + strlen(text), room - strlen(text), "%s%s", *text ? "|" : "",
			 DRAW(&draws, drawn_statements));
}

/* Logical and physical numbers are each other's inverse where they are decided. */
static void check_inverse(const char *name, const gpumap_mapping *m)
{
	for (size_t i = 0; i < gpumap_mapping_visible_count(m); i++) {
		const gpumap_entry *e = gpumap_mapping_visible(m, i);
		int physical = (int)gpumap_entry_int(e, GPUMAP_ENTRY_PHYSICAL), logical;

		ROW_EQ_INT(name, gpumap_entry_int(e, GPUMAP_ENTRY_LOGICAL), (int64_t)i);
		ck_assert_msg(gpumap_entry_candidate_count(e) > 0, "%s", name);
		if (physical < 0)
			continue;
		logical = gpumap_mapping_logical(m, physical);
		ck_assert_msg(logical >= 0 && logical <= (int)i, "%s: %d", name, logical);
		ROW_EQ_INT(name,
			   gpumap_entry_int(gpumap_mapping_visible(m, (size_t)logical),
					    GPUMAP_ENTRY_PHYSICAL),
			   physical);
	}
	ROW_EQ_INT(name, gpumap_mapping_logical(m, -1), -1);
	ROW_EQ_INT(name, gpumap_mapping_logical(m, 4096), -1);
}

/* The answer as JSON, which must be valid; NULL when there is none. */
static char *answer(const char *statements, const char *on)
{
	gpumap_mapping *mapping = NULL;
	gpumap_report *report;
	char *text = NULL;
	json_t *json;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	if (resolve_statements(&mapping, statements, "CUDA_VISIBLE_DEVICES=0,1", on, report) ==
	    GPUMAP_OK)
		check_inverse(statements, mapping);
	else
		ck_assert_msg(gpumap_report_worst(report) >= GPUMAP_SEVERITY_WARNING, "%s",
			      statements);
	ck_assert_int_eq(gpumap_mapping_format(&text, mapping, GPUMAP_FORMAT_TEXT, 0, report),
			 GPUMAP_OK);
	free(text);
	ck_assert_int_eq(gpumap_mapping_format(&text, mapping, GPUMAP_FORMAT_JSON, 0, report),
			 GPUMAP_OK);
	json = json_loads(text, 0, NULL);
	ck_assert_msg(json != NULL, "%s: %s", statements, text);
	json_decref(json);
	gpumap_mapping_free(mapping);
	gpumap_report_free(report);
	return text;
}

/* Same inputs, same answer; what it was made of is gone before it is read. */
START_TEST(random_answers)
{
	char statements[512];

	draws = (struct draws){.state = UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)_i};
	for (int i = 0; i < ROUNDS; i++) {
		const char *on = DRAW(&draws, machines);
		char *once, *twice;

		draw_statements(statements, sizeof(statements));
		once = answer(statements, on);
		twice = answer(statements, on);
		ROW_EQ_STR(statements, once, twice);
		free(once);
		free(twice);
	}
}
END_TEST

/* No statement puts text into the answer that moves the terminal's cursor. */
START_TEST(control_characters_stay_out)
{
	gpumap_mapping *mapping;
	gpumap_request *request;
	char *text;

	ck_assert_int_eq(gpumap_request_new(&request), GPUMAP_OK);
	ck_assert_int_eq(
		gpumap_request_set(request, "visible", "GPU-\033[2J,GPU-\001", "a\nb", NULL),
		GPUMAP_OK);
	ck_assert_int_eq(gpumap_resolve(&mapping, request, NULL, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_mapping_format(&text, mapping, GPUMAP_FORMAT_TEXT, 0, NULL),
			 GPUMAP_OK);
	ck_assert_ptr_null(strpbrk(text, "\033\001"));
	ck_assert_ptr_nonnull(strstr(text, "GPU-\\x1b[2J"));
	ck_assert_ptr_nonnull(strstr(text, "a\\x0ab"));
	free(text);
	gpumap_mapping_free(mapping);
	gpumap_request_free(request);
}
END_TEST

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Everything that an answer about `count` devices takes, in seconds. */
static double cost(size_t count, const char *statements, bool unlike)
{
	gpumap_inventory *inventory = inventory_new("test", NULL);
	gpumap_mapping *mapping;
	gpumap_request *request;
	gpumap_report *report;
	char *text, name[64];
	double start;

	for (size_t i = 0; i < count; i++) {
		gpumap_device *d = inventory_add(inventory);

		d->index = (int)i;
		snprintf(name, sizeof(name), "GPU-%08zx-0000-4000-8000-000000000000", i);
		ck_assert(member_set(&d->uuid, span_of(name)));
		snprintf(name, sizeof(name), "Model %zu", unlike ? i : 0);
		ck_assert(member_set(&d->name, span_of(name)));
	}
	start = seconds();
	ck_assert_int_eq(inventory_finish(inventory, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_request_new(&request), GPUMAP_OK);
	ck_assert_int_eq(set_statements(request, statements, report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_resolve(&mapping, request, inventory, report), GPUMAP_OK);
	ck_assert_uint_eq(gpumap_mapping_visible_count(mapping), count);
	ck_assert_int_eq(gpumap_mapping_format(&text, mapping, GPUMAP_FORMAT_TEXT, 0, report),
			 GPUMAP_OK);
	free(text);
	ck_assert_int_eq(gpumap_mapping_format(&text, mapping, GPUMAP_FORMAT_JSON, 0, report),
			 GPUMAP_OK);
	free(text);
	start = seconds() - start;
	gpumap_mapping_free(mapping);
	gpumap_request_free(request);
	gpumap_report_free(report);
	gpumap_inventory_free(inventory);
	return start;
}

/* The time grows linearly: ten times the devices take far less than 100 times as long. Other work
 * disturbs the measurement, so the shortest of several times counts. */
START_TEST(cost_grows_linearly)
{
	static const struct {
		const char *statements;
		bool unlike;
	} cases[] = {{"mode=single", false}, {"mode=dp|batch=99", false}, {"mode=mp", true}};
	double small = 1e9, large = 1e9, t;

	for (int i = 0; i < 3 || (i < 20 && large >= 40 * small + 0.02); i++) {
		t = cost(1000, cases[_i].statements, cases[_i].unlike);
		small = t < small ? t : small;
		t = cost(10000, cases[_i].statements, cases[_i].unlike);
		large = t < large ? t : large;
	}
	ck_assert_msg(large < 40 * small + 0.02, "%s: 1,000 devices take %.4f s, 10,000 %.4f s",
		      cases[_i].statements, small, large);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("properties");
	TCase *tests = tcase_create("properties");

	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, random_answers, 0, 3);
	tcase_add_test(tests, control_characters_stay_out);
	tcase_add_loop_test(tests, cost_grows_linearly, 0, 3);
	return unit_run(suite);
}
