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

static inline void same_process(const char *row, const gpumap_process *a, const gpumap_process *b)
{
	ROW_EQ_INT(row, b->pid, a->pid);
	ROW_EQ_INT(row, b->memory, a->memory);
	ROW_EQ_INT(row, b->types, a->types);
	ROW_EQ_INT(row, b->mig, a->mig);
	ROW_EQ_INT(row, b->visible, a->visible);
	ROW_EQ_INT(row, b->uid, a->uid);
	ROW_EQ_INT(row, b->start, a->start);
	ROW_EQ_STR(row, b->started, a->started);
	ROW_EQ_STR(row, b->user, a->user);
	ROW_EQ_STR(row, b->command, a->command);
	ROW_EQ_STR(row, b->container, a->container);
}

static inline void same_usage(const char *row, const gpumap_device *a, const gpumap_device *b)
{
	ROW_EQ_INT(row, b->used, a->used);
	ROW_EQ_INT(row, b->free, a->free);
	ROW_EQ_INT(row, b->reserved, a->reserved);
	ROW_EQ_INT(row, b->utilization, a->utilization);
	ROW_EQ_INT(row, b->temperature, a->temperature);
	ROW_EQ_INT(row, b->compute_mode, a->compute_mode);
	ROW_EQ_INT(row, b->listed, a->listed);
	ROW_EQ_INT(row, b->process_first, a->process_first);
	ROW_EQ_INT(row, b->process_count, a->process_count);
	for (size_t i = 0; a->processes && i < a->process_count; i++)
		same_process(row, &a->processes[i], &b->processes[i]);
}

static inline void same_device(const char *row, const gpumap_device *a, const gpumap_device *b)
{
	ROW_EQ_INT(row, b->index, a->index);
	ROW_EQ_INT(row, b->physical, a->physical);
	ROW_EQ_INT(row, b->mig_position, a->mig_position);
	ROW_EQ_STR(row, b->uuid, a->uuid);
	ROW_EQ_STR(row, b->pci, a->pci);
	ROW_EQ_STR(row, b->name, a->name);
	ROW_EQ_STR(row, b->numa, a->numa);
	ROW_EQ_STR(row, b->cpus, a->cpus);
	ROW_EQ_INT(row, b->memory, a->memory);
	ROW_EQ_INT(row, b->minor, a->minor);
	ROW_EQ_INT(row, b->mig_enabled, a->mig_enabled);
	ROW_EQ_INT(row, b->nvlink_count, a->nvlink_count);
	for (int i = 0; i < a->nvlink_count; i++)
		ROW_EQ_INT(row, b->nvlink[i], a->nvlink[i]);
	ROW_EQ_STR(row, b->profile, a->profile);
	ROW_EQ_INT(row, b->gi, a->gi);
	ROW_EQ_INT(row, b->ci, a->ci);
	same_usage(row, a, b);
	ROW_EQ_INT(row, b->mig_count, a->mig_count);
	for (size_t i = 0; i < a->mig_count; i++)
		same_device(row, &a->mig[i], &b->mig[i]);
}

static inline void same_inventory(const char *row, const gpumap_inventory *a,
				  const gpumap_inventory *b)
{
	ROW_EQ_INT(row, b->count, a->count);
	for (size_t i = 0; i < a->count; i++)
		same_device(row, &a->gpus[i], &b->gpus[i]);
	ROW_EQ_STR(row, b->source, a->source);
	ROW_EQ_STR(row, b->driver, a->driver);
	ROW_EQ_STR(row, b->host, a->host);
	ROW_EQ_STR(row, b->date, a->date);
	ROW_EQ_INT(row, b->assumed, a->assumed);
	ROW_EQ_INT(row, b->partial, a->partial);
	ROW_EQ_INT(row, b->doubt, a->doubt);
	ROW_EQ_INT(row, b->usage, a->usage);
	for (int k = 0; k < 2; k++) {
		ROW_EQ_INT(row, !b->order[k], !a->order[k]);
		for (size_t i = 0; a->order[k] && i < a->count; i++)
			ROW_EQ_INT(row, b->order[k][i], a->order[k][i]);
	}
}

#endif
