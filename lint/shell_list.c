/* SPDX-License-Identifier: MIT */
/* Lists of devices, as gpumap_resolve reads them. */
#include "lint/shell_script.h"

#include <stdio.h>

/* NULL: there is no answer. */
static gpumap_mapping *resolve(const struct shell *sh, enum tracked variable, struct span value,
			       const char *launcher, gpumap_report *report)
{
	OWNED(request) *request = new_request();
	gpumap_mapping *mapping = NULL;
	CLEANUP(strbuf_free) struct strbuf statement = {0};
	int r;

	strbuf_printf(&statement, "%s=", tracked_name(variable));
	strbuf_add(&statement, value.text, value.length);
	r = gpumap_request_set(request, "script_export", statement.text, sh->origin, report);
	if (r == GPUMAP_OK && launcher)
		r = gpumap_request_set(request, "launcher", launcher, sh->origin, report);
	if (r == GPUMAP_OK)
		gpumap_resolve(&mapping, request, NULL, report);
	return mapping;
}

int64_t shell_count(struct shell *sh, struct span list, const char *launcher)
{
	OWNED(mapping) *mapping = NULL;

	if (!span_known(list))
		return -1;
	if (sh->counted.value.text && span_same(sh->counted.value, list) &&
	    sh->counted.launcher == launcher)
		return sh->counted.count;
	if (!shell_affords(sh, list.length))
		return -1;
	mapping = resolve(sh, TRACKED_LIST, list, launcher, NULL);
	sh->counted.value = list;
	sh->counted.launcher = launcher;
	sh->counted.count = mapping ? (int64_t)gpumap_mapping_visible_count(mapping) : -1;
	return sh->counted.count;
}

int64_t shell_largest(struct span list)
{
	struct span entry;
	int64_t most = -1;

	while (span_split(&list, ',', &entry)) {
		int64_t number = span_number(span_trim(entry), INT32_MAX);

		most = number > most ? number : most;
	}
	return most;
}

const char *first_numbers(struct quoted *ret, int64_t count)
{
	size_t n = 0;

	for (int i = 0; i < (int)count && n < 240; i++)
		n += (size_t)snprintf(ret->text + n, sizeof(ret->text) - n, "%s%d", i ? "," : "",
				      i);
	return ret->text;
}

uint64_t shell_devices(struct shell *sh, struct span list, int64_t entries)
{
	OWNED(mapping) *mapping = span_known(list) && list.length > 0
					  ? resolve(sh, TRACKED_LIST, list, NULL, NULL)
					  : NULL;
	size_t count = mapping ? gpumap_mapping_visible_count(mapping) : 0;
	bool numbers = mapping;
	uint64_t bits = 0;

	for (size_t i = 0; numbers && i < count && (entries < 0 || (int64_t)i < entries); i++) {
		int64_t number =
			gpumap_entry_int(gpumap_mapping_visible(mapping, i), GPUMAP_ENTRY_PHYSICAL);

		numbers = number >= 0 && number < 64;
		bits |= numbers ? UINT64_C(1) << number : 0;
	}
	return numbers ? bits : 0;
}

/* Relays the warnings about a variable's value; `only`: those of this id. Returns their number. */
static size_t relay(struct shell *sh, enum tracked variable, struct span value, struct place at,
		    enum finding_id only)
{
	OWNED(report) *report = new_report();
	const gpumap_finding *finding;
	size_t count = 0;

	gpumap_mapping_free(resolve(sh, variable, value, NULL, report));
	for (size_t i = 0; (finding = gpumap_report_get(report, i)); i++) {
		if (gpumap_finding_int(finding, GPUMAP_FINDING_SEVERITY) !=
			    GPUMAP_SEVERITY_WARNING ||
		    (only != FINDING_COUNT && !finding_is(finding, only)))
			continue;
		report_relay(sh->report, finding,
			     ABOUT(.origin = sh->origin, .line = at.line, .column = at.column));
		count++;
	}
	return count;
}

void shell_check_list(struct shell *sh, struct span list, struct place at)
{
	/* An empty list or -1 hides the GPUs on purpose. */
	if (!span_known(list) || !list.length)
		return;
	if (span_same(list, sh->good) || !shell_affords(sh, list.length))
		return;
	if (!relay(sh, TRACKED_LIST, list, at, FINDING_COUNT))
		sh->good = list;
}

void shell_check_order(struct shell *sh, struct span order, struct place at)
{
	if (span_known(order) && order.length)
		relay(sh, TRACKED_ORDER, order, at, FINDING_UNKNOWN_ORDER);
}

/* Whether the launcher gives the devices another order. */
static bool reorders(const gpumap_mapping *before, const gpumap_mapping *after)
{
	size_t count = gpumap_mapping_visible_count(before);

	if (count != gpumap_mapping_visible_count(after))
		return false;
	for (size_t i = 0; i < count; i++)
		if (gpumap_entry_int(gpumap_mapping_visible(before, i), GPUMAP_ENTRY_PHYSICAL) !=
		    gpumap_entry_int(gpumap_mapping_visible(after, i), GPUMAP_ENTRY_PHYSICAL))
			return true;
	return false;
}

void shell_check_deepspeed(struct shell *sh, struct span list, struct place at)
{
	OWNED(report) *report = new_report();
	OWNED(mapping) *before = resolve(sh, TRACKED_LIST, list, NULL, NULL);
	OWNED(mapping) *after = resolve(sh, TRACKED_LIST, list, "deepspeed", report);
	const gpumap_finding *finding;

	for (size_t i = 0; (finding = gpumap_report_get(report, i)); i++)
		if (finding_is(finding, FINDING_REWRITE_FAILS))
			report_relay(
				sh->report, finding,
				ABOUT(.origin = sh->origin, .line = at.line, .column = at.column));
	if (reorders(before, after))
		shell_report(sh, FINDING_LIST_REPLACED, at, "S10",
			     "write the numbers in ascending order",
			     "DeepSpeed sorts CUDA_VISIBLE_DEVICES=%s: its order is lost",
			     QUOTE(list));
}
