/* SPDX-License-Identifier: MIT */
/* Machines that nobody looked at: "8", "8xH100", "2xA100+1xT1000". */
#include "inventory/inventory.h"

#include <stdio.h>

static int bad(struct span text, gpumap_report *report)
{
	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
			   ABOUT(.origin = "--inventory",
				 .fix = "write a number of GPUs, or COUNTxMODEL joined by +"),
			   "no such machine: '%s'", QUOTE(text));
}

static int too_many(gpumap_report *report)
{
	return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT, ABOUT(.origin = "--inventory"),
			   "more than %d GPUs", GPUMAP_MAX_DEVICES);
}

static int add_group(gpumap_inventory *inventory, int64_t count, struct span model,
		     gpumap_report *report)
{
	for (int64_t i = 0; i < count; i++) {
		gpumap_device *d = inventory_add(inventory);

		if (!d)
			return inventory->count >= GPUMAP_MAX_DEVICES ? too_many(report)
								      : report_nomem(report);
		d->index = (int)inventory->count - 1;
		if (model.length && !member_set(&d->name, model))
			return report_nomem(report);
	}
	return GPUMAP_OK;
}

static int parse_groups(gpumap_inventory *inventory, struct span text, gpumap_report *report)
{
	struct span rest = text, group;

	while (span_split(&rest, '+', &group)) {
		struct span number = group, model = {"", 0};
		const char *x = memchr(group.text, 'x', group.length);
		int64_t count;
		int r;

		if (x) {
			number.length = (size_t)(x - group.text);
			model.text = x + 1;
			model.length = group.length - number.length - 1;
			if (!model.length)
				return bad(text, report);
		}
		count = span_number(number, INT64_MAX);
		if (count < 0)
			return bad(text, report);
		if (count > GPUMAP_MAX_DEVICES)
			return too_many(report);
		r = add_group(inventory, count, model, report);
		if (r != GPUMAP_OK)
			return r;
	}
	return GPUMAP_OK;
}

int synthetic_parse(gpumap_inventory **ret, struct span text, gpumap_report *report)
{
	gpumap_inventory *inventory = inventory_new("assumed", NULL);
	int r;

	if (!inventory || !member_set(&inventory->origin, text)) {
		gpumap_inventory_free(inventory);
		return report_nomem(report);
	}
	inventory->assumed = true;
	r = parse_groups(inventory, text, report);
	if (r == GPUMAP_OK)
		r = inventory_finish(inventory, report);
	if (r != GPUMAP_OK) {
		gpumap_inventory_free(inventory);
		return r;
	}
	*ret = inventory;
	return GPUMAP_OK;
}

EXPORT int gpumap_inventory_assume(gpumap_inventory **ret, int count, gpumap_report *report)
{
	char text[16];

	if (count < 0)
		return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE, NULL,
				   "a machine cannot have %d GPUs", count);
	snprintf(text, sizeof(text), "%d", count);
	return synthetic_parse(ret, span_of(text), report);
}
