/* SPDX-License-Identifier: MIT */
/* What the tests of snapshots share. */
#ifndef GM_SNAPSHOTS_H
#define GM_SNAPSHOTS_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inventory/inventory.h"
#include "strbuf.h"
#include "unit.h"

/* Findings as "line:column text; fix", one after the other. */
static inline char *messages(gpumap_report *report)
{
	struct strbuf buf = {0};

	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);
		const char *fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX);

		strbuf_printf(&buf, "%d:%d %s%s%s|",
			      (int)gpumap_finding_int(f, GPUMAP_FINDING_LINE),
			      (int)gpumap_finding_int(f, GPUMAP_FINDING_COLUMN),
			      gpumap_finding_str(f, GPUMAP_FINDING_TEXT), fix ? "; " : "",
			      fix ? fix : "");
	}
	return strbuf_take(&buf);
}

static inline gpumap_inventory *parse(const char *text)
{
	gpumap_inventory *inventory = NULL;
	gpumap_report *report;
	char *got;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	if (snapshot_parse(&inventory, span_of(text), "m.ini", report) != GPUMAP_OK) {
		got = messages(report);
		ck_abort_msg("%s", got);
	}
	gpumap_report_free(report);
	return inventory;
}

/* A folder of the test's own, which is the current one. */
static char folder[64];

static inline void enter_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/gpumap-t-snapshot-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
}

/* The files of the current folder that are not called "." or "..", removed. */
static inline int empty_folder(void)
{
	DIR *dir = opendir(".");
	struct dirent *entry;
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		if (streq(entry->d_name, ".") || streq(entry->d_name, ".."))
			continue;
		n++;
		ck_assert_int_eq(remove(entry->d_name), 0);
	}
	closedir(dir);
	return n;
}

static inline void leave_folder(void)
{
	empty_folder();
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}

static inline char *slurp(const char *path)
{
	FILE *file = fopen(path, "r");
	struct strbuf buf = {0};
	char piece[4096];
	size_t n;

	ck_assert_msg(file, "%s", path);
	while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
		strbuf_add(&buf, piece, n);
	fclose(file);
	return strbuf_take(&buf);
}

static inline void save(const gpumap_inventory *inventory, const char *path)
{
	gpumap_report *report;

	ck_assert_int_eq(gpumap_report_new(&report), GPUMAP_OK);
	if (gpumap_inventory_save(inventory, path, report) != GPUMAP_OK)
		ck_abort_msg("%s", messages(report));
	gpumap_report_free(report);
}

#endif
