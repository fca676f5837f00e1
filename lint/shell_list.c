/* SPDX-License-Identifier: MIT */
/* Lists of devices, as gpumap_resolve reads them. */
#include "lint/shell_script.h"

static int resolve(struct shell *sh, struct span list, const char *launcher,
		   gpumap_mapping **mapping, gpumap_report *report)
{
	gpumap_request *request = NULL;
	struct strbuf statement = {0};
	int r = gpumap_request_new(&request);

	strbuf_puts(&statement, tracked_name(TRACKED_LIST));
	strbuf_puts(&statement, "=");
	strbuf_add(&statement, list.text, list.length);
	if (statement.failed && r == GPUMAP_OK)
		r = GPUMAP_ENOMEM;
	if (r == GPUMAP_OK)
		r = gpumap_request_set(request, "script_export", statement.text, sh->origin,
				       report);
	if (r == GPUMAP_OK && launcher)
		r = gpumap_request_set(request, "launcher", launcher, sh->origin, report);
	if (r == GPUMAP_OK)
		r = gpumap_resolve(mapping, request, NULL, report);
	sh->failed |= r == GPUMAP_ENOMEM || report_lacks_memory(report);
	strbuf_free(&statement);
	gpumap_request_free(request);
	return r;
}

int64_t shell_count(struct shell *sh, struct span list, const char *launcher)
{
	gpumap_mapping *mapping = NULL;
	int64_t count = -1;

	if (!span_known(list))
		return -1;
	if (sh->counted.value.text && sh->counted.value.length == list.length &&
	    sh->counted.launcher == launcher &&
	    memcmp(sh->counted.value.text, list.text, list.length) == 0)
		return sh->counted.count;
	if (resolve(sh, list, launcher, &mapping, NULL) == GPUMAP_OK)
		count = (int64_t)gpumap_mapping_visible_count(mapping);
	gpumap_mapping_free(mapping);
	sh->counted.value = shell_keep(sh, list);
	sh->counted.launcher = launcher;
	sh->counted.count = count;
	return count;
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

void shell_check_list(struct shell *sh, struct span list, struct place at)
{
	gpumap_mapping *mapping = NULL;
	gpumap_report *report = NULL;
	const gpumap_finding *finding;

	/* An empty list or -1 hides the GPUs on purpose. */
	if (!span_known(list) || !list.length)
		return;
	if (gpumap_report_new(&report) != GPUMAP_OK) {
		sh->failed = true;
		return;
	}
	resolve(sh, list, NULL, &mapping, report);
	for (size_t i = 0; (finding = gpumap_report_get(report, i)); i++)
		if (gpumap_finding_int(finding, GPUMAP_FINDING_SEVERITY) == GPUMAP_SEVERITY_WARNING)
			report_relay(
				sh->report, finding,
				ABOUT(.origin = sh->origin, .line = at.line, .column = at.column));
	gpumap_mapping_free(mapping);
	gpumap_report_free(report);
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
	gpumap_mapping *before = NULL, *after = NULL;
	gpumap_report *report = NULL;
	const gpumap_finding *finding;

	if (gpumap_report_new(&report) != GPUMAP_OK) {
		sh->failed = true;
		return;
	}
	resolve(sh, list, NULL, &before, NULL);
	resolve(sh, list, "deepspeed", &after, report);
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
	gpumap_mapping_free(before);
	gpumap_mapping_free(after);
	gpumap_report_free(report);
}
