/* SPDX-License-Identifier: MIT */
/* See explain_value.h. */
#include "cli/explain_value.h"

#include <stdio.h>

#include "report/report.h"
#include "strbuf.h"

static const struct {
	const char *what;
	int attr; /* enum gpumap_entry_str_attr, or GPUMAP_ENTRY_PHYSICAL */
	bool list;
} values[] = {
	{"number", GPUMAP_ENTRY_PHYSICAL, false}, {"UUID", GPUMAP_ENTRY_UUID, false},
	{"PCI address", GPUMAP_ENTRY_PCI, false}, {"number", GPUMAP_ENTRY_PHYSICAL, true},
	{"UUID", GPUMAP_ENTRY_UUID, true},
};

static int not_known(const gpumap_mapping *mapping, const gpumap_entry *entry, const char *what,
		     gpumap_report *report)
{
	const bool assumed = gpumap_mapping_str(mapping, GPUMAP_MAPPING_ASSUMPTION);

	const long long logical =
		entry ? (long long)gpumap_entry_int(entry, GPUMAP_ENTRY_LOGICAL) : -1;

	if (!entry)
		report_add(report, FINDING_VALUE_UNKNOWN,
			   ABOUT(.origin = "--format", .fix = "name a GPU with --device"),
			   "no GPU is chosen, so there is no %s", what);
	else if (gpumap_entry_int(entry, GPUMAP_ENTRY_MIG) >= 0)
		report_add(report, FINDING_VALUE_UNKNOWN,
			   ABOUT(.origin = "--format", .fix = "write --format uuid"),
			   "cuda:%lld is a MIG instance, which has no %s of its own", logical,
			   what);
	else
		report_add(report, FINDING_VALUE_UNKNOWN,
			   ABOUT(.origin = "--format",
				 .fix = assumed ? "write --inventory host for this machine"
						: "name a machine whose inventory has it"),
			   "the %s of cuda:%lld is not known", what, logical);
	return GPUMAP_OK;
}

/* False: it is not known. */
static bool add(struct strbuf *buf, const gpumap_entry *entry, int attr)
{
	const char *text = NULL;
	int64_t number;

	if (!entry)
		return false;
	number = gpumap_entry_int(entry, GPUMAP_ENTRY_PHYSICAL);
	if (attr != GPUMAP_ENTRY_UUID && gpumap_entry_int(entry, GPUMAP_ENTRY_MIG) >= 0)
		return false;
	if (attr != GPUMAP_ENTRY_PHYSICAL)
		text = gpumap_entry_str(entry, (enum gpumap_entry_str_attr)attr);
	if (text)
		strbuf_puts(buf, text);
	else if (attr == GPUMAP_ENTRY_PHYSICAL && number >= 0)
		strbuf_printf(buf, "%lld", (long long)number);
	else
		return false;
	return true;
}

int explain_value(const gpumap_mapping *mapping, int value, bool *known, gpumap_report *report)
{
	const size_t count = values[value - 1].list ? gpumap_mapping_visible_count(mapping) : 1;
	const int attr = values[value - 1].attr;
	CLEANUP(strbuf_free) struct strbuf buf = {0};

	*known = true;
	for (size_t i = 0; i < count; i++) {
		const gpumap_entry *entry = values[value - 1].list
						    ? gpumap_mapping_visible(mapping, i)
						    : gpumap_mapping_chosen(mapping);

		strbuf_puts(&buf, i ? "," : "");
		*known = add(&buf, entry, attr);
		if (*known)
			continue;
		return not_known(mapping, entry, values[value - 1].what, report);
	}
	strbuf_puts(&buf, "\n");
	return print_buffer(&buf, report);
}
