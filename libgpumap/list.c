/* SPDX-License-Identifier: MIT */
/* What a parsed list deserves to have said about it: steps, remarks and warnings. */
#include "resolve.h"

#include <stdio.h>

struct telling {
	struct resolver *resolver;
	const struct visible_list *list;
	const struct holding *holding;
};

/* The text of entry `number` (1-based, as notes count). */
static struct span entry_text(const struct telling *t, size_t number)
{
	struct span rest = span_of(t->holding->value), token = {"", 0};

	for (size_t i = 0; i < number; i++)
		span_split(&rest, ',', &token);
	return token;
}

static void step(const struct telling *t, const char *rule, const char *text)
{
	step_add(t->resolver, rule, NULL, text);
}

static void tell_steps(const struct telling *t)
{
	const struct visible_list *list = t->list;
	struct arena *arena = t->resolver->arena;
	const char *last = list->count == 1 ? "" : "s";

	if (list->notes.uuid)
		step(t, "V6", "a UUID entry is the device whose UUID begins with it");
	if (list->notes.mig)
		step(t, "V9", "a MIG- entry is one compute instance");
	if (list->notes.garbage)
		step(t, "V3",
		     arena_printf(arena, "of '%s' only the leading number counts",
				  QUOTE(entry_text(t, list->notes.garbage))));
	if (list->count)
		step(t, "V1",
		     arena_printf(arena,
				  "the list's order is the logical order: %zu device%s visible",
				  list->count, last));
	if (list->end == END_DUPLICATE && !list->count)
		step(t, "V5",
		     arena_printf(arena,
				  "entry %zu names the device of entry %zu again: the whole list "
				  "is empty",
				  list->end_entry, list->end_earlier));
	else if (list->end != END_NOT)
		step(t, visible_end_rule(list->end),
		     arena_printf(arena, "entry %zu ('%s') ends the list: %s", list->end_entry,
				  QUOTE(list->end_text), visible_end_reason(list->end)));
}

static void warn_spelling(const struct telling *t)
{
	const struct visible_notes *notes = &t->list->notes;
	gpumap_report *report = t->resolver->report;
	const char *origin = t->holding->origin;

	if (notes->garbage)
		report_add(report, FINDING_NOT_A_RANGE,
			   ABOUT(.rule = "V3", .origin = origin,
				 .fix = notes->range ? "write every number, as in 0,1,2"
						     : "separate numbers by commas alone"),
			   "'%s' is read as its leading number alone%s",
			   QUOTE(entry_text(t, notes->garbage)),
			   notes->range ? ": a range is no range here" : "");
	if (notes->bare_uuid)
		report_add(report, FINDING_BARE_UUID,
			   ABOUT(.rule = "V8", .origin = origin, .fix = "put GPU- before the UUID"),
			   "without GPU- '%s' is read as a number",
			   QUOTE(entry_text(t, notes->bare_uuid)));
	if (notes->word)
		report_add(report, FINDING_FOREIGN_WORD,
			   ABOUT(.rule = "V10", .origin = origin,
				 .fix = "unset the variable to see every device, or write plain "
					"numbers"),
			   "'%s' is no device: it hides every device from there on",
			   QUOTE(entry_text(t, notes->word)));
	if (notes->blank)
		report_add(report, FINDING_BLANK_BEFORE_UUID,
			   ABOUT(.rule = "V6", .origin = origin, .fix = "remove the blank"),
			   "'%s' begins with a blank", QUOTE(entry_text(t, notes->blank)));
	if (notes->kinds)
		report_add(report, FINDING_MIXED_KINDS,
			   ABOUT(.rule = "V7", .origin = origin,
				 .fix = "use numbers alone, or UUIDs alone"),
			   "'%s' is of another kind than the first entry",
			   QUOTE(entry_text(t, notes->kinds)));
}

static void warn_end(const struct telling *t)
{
	const struct visible_list *list = t->list;
	const struct visible_notes *notes = &list->notes;
	struct resolver *resolver = t->resolver;
	const char *rule = visible_end_rule(list->end);

	if (list->end == END_DUPLICATE) {
		report_add(resolver->report, FINDING_DUPLICATE_DEVICE,
			   ABOUT(.rule = "V5", .origin = t->holding->origin,
				 .fix = "name each device once"),
			   "'%s' names a device twice: %s", QUOTE(list->end_text),
			   list->count ? "the list ends there" : "that hides every device");
	} else if (list->end != END_NOT && !notes->word && !notes->blank && !notes->kinds &&
		   !(list->end == END_NEGATIVE && list->end_entry == 0)) {
		/* A list that begins with a negative number means to hide everything. */
		report_add(
			resolver->report, FINDING_LIST_ENDED,
			ABOUT(.rule = rule, .origin = t->holding->origin,
			      .fix = "remove the entry; gpumap inventory lists the devices"),
			"entry %zu ('%s') is no device here (%s): it and all after it are hidden",
			list->end_entry, QUOTE(list->end_text), visible_end_reason(list->end));
	}
	if (notes->unsure && resolver->dialect == DIALECT_DRIVER)
		report_add(resolver->report, FINDING_UNSURE_LIST,
			   ABOUT(.rule = notes->blank                         ? "V6"
					 : rule && list->end == END_DUPLICATE ? "V5"
									      : "V3",
				 .origin = t->holding->origin,
				 .fix = "write it plainly; tests/gpu/run-all driver settles it on "
					"a GPU"),
			   "what the driver makes of '%s' is assumed",
			   QUOTE(entry_text(t, notes->unsure)));
}

int list_explain(struct resolver *resolver, const struct visible_list *list,
		 const struct holding *holding, bool outer)
{
	const struct telling t = {resolver, list, holding};
	gpumap_mapping *mapping = resolver->mapping;

	tell_steps(&t);
	warn_spelling(&t);
	warn_end(&t);
	if (!outer && list->end != END_NOT) {
		mapping->ended_entry = (int)list->end_entry;
		mapping->ended_text =
			arena_strndup(resolver->arena, list->end_text.text, list->end_text.length);
		mapping->ended_reason = visible_end_reason(list->end);
		mapping->ended_rule = visible_end_rule(list->end);
	}
	return resolver->arena->failed ? report_nomem(resolver->report) : GPUMAP_OK;
}
