/* SPDX-License-Identifier: MIT */
/* The formats in which objects are written, and those that an object does not have. */
#include "gpumap.h"

#include "base.h"
#include "unit.h"

static struct {
	gpumap_report *report;
	gpumap_inventory *inventory;
	gpumap_request *request;
	gpumap_mapping *mapping;
	gpumap_profile *profile;
	gpumap_hosts *hosts;
	gpumap_plan *plan;
} all;

static void begin(void)
{
	ck_assert_int_eq(gpumap_report_new(&all.report), GPUMAP_OK);
	ck_assert_int_eq(gpumap_inventory_open(&all.inventory, "2xA100", NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_request_new(&all.request), GPUMAP_OK);
	ck_assert_int_eq(gpumap_resolve(&all.mapping, all.request, all.inventory, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_profile_new(&all.profile), GPUMAP_OK);
	ck_assert_int_eq(gpumap_hosts_new(&all.hosts), GPUMAP_OK);
	ck_assert_int_eq(gpumap_hosts_parse_list(all.hosts, "a", NULL, NULL), GPUMAP_OK);
	ck_assert_int_eq(gpumap_hosts_set_inventory(all.hosts, 0, all.inventory), GPUMAP_OK);
	ck_assert_int_eq(gpumap_plan_make(&all.plan, all.profile, all.hosts, NULL), GPUMAP_OK);
}

static void end(void)
{
	gpumap_plan_free(all.plan);
	gpumap_hosts_free(all.hosts);
	gpumap_profile_free(all.profile);
	gpumap_mapping_free(all.mapping);
	gpumap_request_free(all.request);
	gpumap_inventory_free(all.inventory);
	gpumap_report_free(all.report);
}

typedef int writer(char **ret, bool there, enum gpumap_format format, unsigned flags);

static int mapping(char **ret, bool there, enum gpumap_format format, unsigned flags)
{
	return gpumap_mapping_format(ret, there ? all.mapping : NULL, format, flags, all.report);
}

static int inventory(char **ret, bool there, enum gpumap_format format, unsigned flags)
{
	return gpumap_inventory_format(ret, there ? all.inventory : NULL, format, flags,
				       all.report);
}

static int profile(char **ret, bool there, enum gpumap_format format, unsigned flags)
{
	return gpumap_profile_format(ret, there ? all.profile : NULL, format, flags, all.report);
}

static int keys(char **ret, bool there, enum gpumap_format format, unsigned flags)
{
	static const char *const some[] = {"mode", NULL};

	return gpumap_profile_format_keys(ret, there ? all.profile : NULL, some, format, flags,
					  all.report);
}

static int plan(char **ret, bool there, enum gpumap_format format, unsigned flags)
{
	return gpumap_plan_format(ret, there ? all.plan : NULL, format, flags, all.report);
}

static int diff(char **ret, bool there, enum gpumap_format format, unsigned flags)
{
	int differs;

	return gpumap_plan_diff(ret, &differs, there ? all.plan : NULL, all.plan, format, flags,
				all.report);
}

static int emit(char **ret, bool there, enum gpumap_format format, unsigned flags)
{
	int emitted;

	return gpumap_plan_emit(ret, &emitted, there ? all.plan : NULL, "shell", format, flags,
				all.report);
}

/* Letters of the forms that there are: text, JSON, SVG, INI. */
static const struct {
	const char *name;
	writer *write;
	const char *of_one, *of_none;
} rows[] = {
	{"mapping", mapping, "tjs", "tjs"}, {"inventory", inventory, "ji", "j"},
	{"profile", profile, "ji", "j"},    {"keys", keys, "j", "j"},
	{"plan", plan, "tjs", "tjs"},       {"diff", diff, "tj", "tj"},
	{"emit", emit, "tj", "tj"},
};

static void check(size_t row, bool there, enum gpumap_format format)
{
	static const unsigned both = GPUMAP_FORMAT_FLAG_COLORS | GPUMAP_FORMAT_FLAG_ORIGINS;
	const char *has = there ? rows[row].of_one : rows[row].of_none;
	bool known = format <= GPUMAP_FORMAT_INI && strchr(has, "tjsi"[format]);
	char untouched[] = "", *text = untouched;

	ROW_EQ_INT(rows[row].name, rows[row].write(&text, there, format, both),
		   known ? GPUMAP_OK : GPUMAP_EINPUT);
	ROW_EQ_INT(rows[row].name, text != untouched, known);
	if (!known)
		return;
	ck_assert_ptr_nonnull(text);
	ROW_EQ_INT(rows[row].name, !*text || text[strlen(text) - 1] == '\n', true);
	free(text);
	text = untouched;
	ROW_EQ_INT(rows[row].name, rows[row].write(&text, there, format, both << 1), GPUMAP_EINPUT);
	ck_assert_ptr_eq(text, untouched);
}

START_TEST(forms)
{
	begin();
	for (int format = GPUMAP_FORMAT_TEXT; format <= GPUMAP_FORMAT_INI + 1; format++) {
		check((size_t)_i, true, (enum gpumap_format)format);
		check((size_t)_i, false, (enum gpumap_format)format);
	}
	end();
}
END_TEST

START_TEST(inventory_reads_back)
{
	char *text = NULL, *again_text = NULL;
	gpumap_inventory *again = NULL;

	begin();
	ck_assert_int_eq(inventory(&text, true, GPUMAP_FORMAT_INI, 0), GPUMAP_OK);
	ck_assert_int_eq(gpumap_inventory_parse(&again, text, strlen(text), "text", NULL),
			 GPUMAP_OK);
	ck_assert_int_eq(gpumap_inventory_format(&again_text, again, GPUMAP_FORMAT_INI, 0, NULL),
			 GPUMAP_OK);
	ck_assert_str_eq(again_text, text);
	ck_assert_uint_eq(gpumap_inventory_count(again), 2);
	gpumap_inventory_free(again);
	free(again_text);
	free(text);
	end();
}
END_TEST

/* A launcher that cannot start the plan, here because there is no program. */
START_TEST(nothing_emitted)
{
	char *text = NULL;
	int emitted = 1;

	begin();
	ck_assert_int_eq(gpumap_plan_emit(&text, &emitted, all.plan, "shell", GPUMAP_FORMAT_TEXT, 0,
					  all.report),
			 GPUMAP_OK);
	ck_assert_str_eq(text, "");
	ck_assert_int_eq(emitted, 0);
	ck_assert_int_eq(gpumap_report_worst(all.report), GPUMAP_SEVERITY_ERROR);
	free(text);
	emitted = 1;
	ck_assert_int_eq(gpumap_plan_emit(&text, &emitted, all.plan, "shell", GPUMAP_FORMAT_JSON, 0,
					  all.report),
			 GPUMAP_OK);
	ck_assert_int_eq(emitted, 0);
	ck_assert_ptr_nonnull(strstr(text, "\"text\":null"));
	free(text);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("format");
	TCase *tests = tcase_create("format");

	tcase_add_loop_test(tests, forms, 0, ARRAY_SIZE(rows));
	tcase_add_test(tests, inventory_reads_back);
	tcase_add_test(tests, nothing_emitted);
	suite_add_tcase(suite, tests);
	return unit_run(suite);
}
