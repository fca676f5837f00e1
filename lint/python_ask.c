/* SPDX-License-Identifier: MIT */
/* The library's findings about a value in a Python file, which is not parsed a second time. */
#include "lint/python_file.h"

#include <stdio.h>

#include "strbuf.h"

static const char assumed[] = "assumed";

/* Findings about what was only assumed are left out. */
static bool carried(const gpumap_finding *f, int64_t severity)
{
	const char *origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN);

	return gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY) == severity &&
	       !(origin && streq(origin, assumed));
}

struct python_list judge_list_at(const struct python_judge *judge, const struct observation *s,
				 struct quoted *room)
{
	const struct python_start *start = judge->start;
	const struct python_facts *facts = &judge->file->facts;
	struct python_list list = {.code = s->list, .more = ""};

	/* A program that sets it anywhere may have set it before. */
	if (s->listed || facts->sets_list || facts->own_list || !start || !start->list)
		return list;
	list.script = start->list;
	list.more = format_text(room, ": %.80s sets CUDA_VISIBLE_DEVICES=%.100s",
				start->list_from ? start->list_from : "the job",
				QUOTE(span_of(start->list)));
	return list;
}

/* NULL: there is no answer. */
static gpumap_mapping *resolve(const struct python_judge *judge,
			       const struct python_statement *statement, gpumap_report *report)
{
	const struct python_start *start = judge->start;
	const gpumap_inventory *inventory = start ? start->inventory : NULL;
	OWNED(request) *request = new_request();
	gpumap_mapping *mapping = NULL;
	int r = GPUMAP_OK;

	if (start && start->order)
		r = gpumap_request_set(request, "prefix", start->order, NULL, report);
	for (; r == GPUMAP_OK && statement->key; statement++)
		if (statement->value)
			r = gpumap_request_set(request, statement->key, statement->value,
					       statement->assumed ? assumed : NULL, report);
	if (r == GPUMAP_OK)
		gpumap_resolve(&mapping, request, inventory, report);
	return mapping;
}

static gpumap_mapping *mapping_of(const struct python_judge *judge, const struct python_list *list)
{
	return resolve(
		judge,
		STATEMENTS({"script_export", list->script, false}, {"in_code", list->code, false}),
		NULL);
}

int64_t judge_count(const struct python_judge *judge, const struct python_list *list)
{
	bool known = list->code || list->script || (judge->start && judge->start->inventory);
	OWNED(mapping) *mapping = known ? mapping_of(judge, list) : NULL;

	return mapping ? (int64_t)gpumap_mapping_visible_count(mapping) : -1;
}

static void add_device(char ret[512], const gpumap_entry *entry)
{
	size_t length = strlen(ret);
	int64_t physical = gpumap_entry_int(entry, GPUMAP_ENTRY_PHYSICAL);
	const char *text = gpumap_entry_str(entry, GPUMAP_ENTRY_UUID);

	if (length + 64 > 512)
		return;
	if (physical >= 0 && gpumap_entry_int(entry, GPUMAP_ENTRY_MIG) < 0)
		snprintf(ret + length, 512 - length, "%s%lld", length ? "," : "",
			 (long long)physical);
	else
		snprintf(ret + length, 512 - length, "%s%.60s", length ? "," : "",
			 text ? text : "?");
}

void judge_devices(const struct python_judge *judge, const struct python_list *list, char ret[512])
{
	OWNED(mapping) *mapping = mapping_of(judge, list);
	CLEANUP(strbuf_free) struct strbuf folded = {0};

	ret[0] = '\0';
	for (size_t i = 0; mapping && i < gpumap_mapping_visible_count(mapping); i++)
		add_device(ret, gpumap_mapping_visible(mapping, i));
	fold_numbers(&folded, span_of(ret));
	if (folded.text)
		snprintf(ret, 512, "%s", folded.text);
}

void judge_ask(const struct python_judge *judge, const struct observation *s,
	       const struct python_statement *statement, enum gpumap_severity severity,
	       const char *more)
{
	OWNED(report) *report = new_report();
	struct quoted fix;
	const char *own;

	gpumap_mapping_free(resolve(judge, statement, report));
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);

		if (!carried(f, severity))
			continue;
		own = gpumap_finding_str(f, GPUMAP_FINDING_FIX);
		if (finding_is(f, FINDING_INVALID_ORDINAL))
			own = fix_ordinal(judge, s, own, &fix);
		report_relay_more(judge->report, f, AT(judge, s, .fix = own), more);
	}
}
