/* SPDX-License-Identifier: MIT */
/* Recorded outputs of real machines, where they lie beside the source: saved, read back. */
#include "snapshots.h"

enum { MAX_FILES = 1024 };

static char *paths[MAX_FILES];
static int path_count;

START_TEST(round_trip)
{
	gpumap_inventory *a = NULL, *b;
	char *text;

	if (gpumap_inventory_read(&a, paths[_i], NULL) != GPUMAP_OK)
		return; /* one that no reader takes */
	save(a, "m.ini");
	text = slurp("m.ini");
	b = parse(text);
	same_inventory(paths[_i], a, b);
	free(text);
	gpumap_inventory_free(a);
	gpumap_inventory_free(b);
}
END_TEST

static void list(void)
{
	const char *source = getenv("GPUMAP_TEST_SRCDIR");
	char path[8192];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/../shared/fixtures", source ? source : ".");
	dir = opendir(path);
	while (dir && path_count < MAX_FILES && (entry = readdir(dir))) {
		size_t n = strlen(path);

		snprintf(path + n, sizeof(path) - n, "/%s", entry->d_name);
		if (entry->d_name[0] != '.')
			paths[path_count++] = strdup(path);
		path[n] = '\0';
	}
	if (dir)
		closedir(dir);
}

int main(void)
{
	Suite *suite;
	TCase *tests;
	int r;

	list();
	if (!path_count)
		return unit_skip("no recorded outputs in ../shared/fixtures");
	suite = suite_create("snapshot");
	tests = tcase_create("recorded");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, enter_folder, leave_folder);
	tcase_add_loop_test(tests, round_trip, 0, path_count);
	r = unit_run(suite);
	while (path_count)
		free(paths[--path_count]);
	return r;
}
