/* SPDX-License-Identifier: MIT */
/* Recorded outputs of real machines, where they lie beside the source, against truth.jsonl. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "inventory/recorded.h"
#include "unit.h"

enum { MAX_RECORDS = 1024 };

static json_t *records[MAX_RECORDS];
static int record_count;
static char folder[4096];

static char *slurp(const char *name, size_t *size)
{
	char path[8192], *text;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "rb");
	if (!f)
		return NULL;
	text = malloc(1 << 20);
	*size = text ? fread(text, 1, 1 << 20, f) : 0;
	fclose(f);
	return text;
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key)); /* NULL for null */
}

static int64_t number_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

static void compare_mig(const char *file, const gpumap_device *d, const json_t *want)
{
	const json_t *list = json_object_get(want, "mig");

	ROW_EQ_INT(file, gpumap_device_mig_count(d), json_array_size(list));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const gpumap_device *mig = gpumap_device_mig(d, i);
		const json_t *one = json_array_get(list, i);

		ROW_EQ_STR(file, gpumap_device_str(mig, GPUMAP_DEVICE_UUID), text_of(one, "uuid"));
		ROW_EQ_STR(file, gpumap_device_str(mig, GPUMAP_DEVICE_MIG_PROFILE),
			   text_of(one, "profile"));
		ROW_EQ_INT(file, gpumap_device_int(mig, GPUMAP_DEVICE_MIG_GI),
			   number_of(one, "gi"));
		ROW_EQ_INT(file, gpumap_device_int(mig, GPUMAP_DEVICE_MIG_CI),
			   number_of(one, "ci"));
	}
}

static void compare_gpu(const char *file, const gpumap_device *d, const json_t *want)
{
	const json_t *links = json_object_get(want, "nvlink");
	int64_t mib = number_of(want, "memory_mib");

	ROW_EQ_INT(file, gpumap_device_int(d, GPUMAP_DEVICE_INDEX), number_of(want, "index"));
	ROW_EQ_STR(file, gpumap_device_str(d, GPUMAP_DEVICE_UUID), text_of(want, "uuid"));
	ROW_EQ_STR(file, gpumap_device_str(d, GPUMAP_DEVICE_PCI), text_of(want, "pci"));
	ROW_EQ_STR(file, gpumap_device_str(d, GPUMAP_DEVICE_NAME), text_of(want, "name"));
	ROW_EQ_STR(file, gpumap_device_str(d, GPUMAP_DEVICE_NUMA), text_of(want, "numa"));
	ROW_EQ_STR(file, gpumap_device_str(d, GPUMAP_DEVICE_CPUS), text_of(want, "cpus"));
	ROW_EQ_INT(file, gpumap_device_int(d, GPUMAP_DEVICE_MINOR), number_of(want, "minor"));
	ROW_EQ_INT(file, gpumap_device_int(d, GPUMAP_DEVICE_MEMORY), mib < 0 ? -1 : mib * MIB);
	ROW_EQ_INT(file, gpumap_device_nvlink_count(d),
		   json_is_array(links) ? (int)json_array_size(links) : -1);
	for (size_t i = 0; i < json_array_size(links); i++)
		ROW_EQ_INT(file, gpumap_device_nvlink(d, i),
			   json_integer_value(json_array_get(links, i)));
	compare_mig(file, d, want);
}

static bool allows(const json_t *record, const char *verdict)
{
	const json_t *list = json_object_get(record, "verdicts"), *one;
	size_t i;

	if (streq(text_of(record, "verdict"), verdict))
		return true;
	json_array_foreach(list, i, one) if (streq(json_string_value(one), verdict)) return true;
	return false;
}

static const char *first_text(const gpumap_report *report)
{
	const char *text = gpumap_finding_str(gpumap_report_get(report, 0), GPUMAP_FINDING_TEXT);

	return text ? text : "";
}

START_TEST(agrees)
{
	const json_t *record = records[_i], *gpus = json_object_get(record, "gpus");
	const char *file = text_of(record, "file"), *verdict = "refuse";
	gpumap_inventory *inventory = NULL;
	gpumap_report *report = NULL;
	size_t size = 0;
	char *text = slurp(file, &size);
	int r;

	ck_assert_msg(text, "%s: cannot be read", file);
	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	r = gpumap_inventory_parse(&inventory, text, size, file, report);
	free(text);
	if (r == GPUMAP_OK)
		verdict = gpumap_inventory_int(inventory, GPUMAP_INVENTORY_PARTIAL) ? "partial"
										    : "inventory";
	else
		ROW_EQ_INT(file, r, GPUMAP_EINPUT);
	if (getenv("GPUMAP_TEST_SHOW"))
		printf("# %s: %s: %s\n", file, verdict, first_text(report));
	ck_assert_msg(allows(record, verdict) ||
			      (streq(verdict, "refuse") && allows(record, "other")),
		      "%s: %s (%s), which it must not be", file, verdict, first_text(report));
	ck_assert_msg(streq(verdict, "inventory") || *first_text(report), "%s: no reason", file);
	if (r == GPUMAP_OK && json_array_size(gpus)) {
		ROW_EQ_INT(file, gpumap_inventory_count(inventory), json_array_size(gpus));
		for (size_t i = 0; i < json_array_size(gpus); i++)
			compare_gpu(file, gpumap_inventory_get(inventory, i),
				    json_array_get(gpus, i));
	}
	gpumap_inventory_free(inventory);
	gpumap_report_free(report);
}
END_TEST

static void load(void)
{
	const char *source = getenv("GPUMAP_TEST_SRCDIR");
	size_t size = 0;
	char *text, *line, *save = NULL;

	snprintf(folder, sizeof(folder), "%s/../shared/fixtures", source ? source : ".");
	text = slurp("truth.jsonl", &size);
	if (!text)
		return;
	text[size < 1 << 20 ? size : size - 1] = '\0';
	for (line = strtok_r(text, "\n", &save); line && record_count < MAX_RECORDS;
	     line = strtok_r(NULL, "\n", &save)) {
		json_t *record = json_loads(line, 0, NULL);

		if (record)
			records[record_count++] = record;
	}
	free(text);
}

int main(void)
{
	Suite *suite;
	TCase *tests;
	int r;

	load();
	if (!record_count)
		return unit_skip("no recorded outputs in ../shared/fixtures");
	suite = suite_create("fixtures");
	tests = tcase_create("fixtures");
	suite_add_tcase(suite, tests);
	tcase_add_loop_test(tests, agrees, 0, record_count);
	r = unit_run(suite);
	for (int i = 0; i < record_count; i++)
		json_decref(records[i]);
	return r;
}
