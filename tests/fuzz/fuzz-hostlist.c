/* SPDX-License-Identifier: MIT */
/* Node lists, hostfiles and counts: names are harmless, limits hold, both ways agree. */
#include "report/report.h"
#include "text/hostlist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_hosts(struct hostlist *list)
{
	if (!list->count || list->count > HOSTLIST_MAX)
		abort();
	for (size_t i = 0; i < list->count; i++) {
		const char *name = list->hosts[i].name;

		if (!*name || *name == '-' || strlen(name) > HOSTLIST_NAME_MAX)
			abort();
		if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				 "-_.") != strlen(name))
			abort();
		if (list->hosts[i].slots < -1)
			abort();
	}
	hostlist_free(list);
}

static void check_counts(struct span text, gpumap_report *report)
{
	int64_t *values;
	size_t count;

	if (counts_parse(&values, &count, text, NULL, report) != GPUMAP_OK)
		return;
	for (size_t i = 0; i < count; i += 1 + count / 16)
		if (counts_at(text, (int64_t)i) != values[i])
			abort();
	if (!count || counts_at(text, (int64_t)count) != -1)
		abort();
	free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = {(const char *)data, size};
	gpumap_report *report;
	struct hostlist list;
	struct span wrong;
	size_t before;

	if (gpumap_report_new(&report) != GPUMAP_OK)
		return 0;
	if (hostlist_check(text, false, &wrong) && !hostlist_check(text, true, &wrong))
		abort();
	if (hostlist_parse(&list, text, "here", report) == GPUMAP_OK) {
		if (!hostlist_check(text, false, &wrong))
			abort();
		check_hosts(&list);
	} else if (gpumap_report_count(report) != 1) {
		abort();
	}
	before = gpumap_report_count(report);
	if (hostfile_parse(&list, text, "here", report) == GPUMAP_OK)
		check_hosts(&list);
	else if (gpumap_report_count(report) != before + 1)
		abort();
	check_counts(text, report);
	gpumap_report_free(report);
	return 0;
}
