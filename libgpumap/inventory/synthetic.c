/* SPDX-License-Identifier: MIT */
/* Machines that are only assumed: "8", "8xH100", "2xA100+1xT1000". */
#include "inventory/inventory.h"
#include "strbuf.h"

#include <stdio.h>

/* "8" or "8xH100". */
static bool is_group(struct span s)
{
	const char *x = memchr(s.text, 'x', s.length);
	struct span count = {s.text, x ? (size_t)(x - s.text) : s.length};

	return span_number(count, INT64_MAX) >= 0 && (!x || x + 1 < s.text + s.length);
}

/* Whether another group follows here, joined by something else than +. Blanks belong to a model's
 * name unless COUNTx follows them. */
static bool is_joint(struct span rest)
{
	size_t digits = 1;

	if (!rest.length || !strchr(",;& ", *rest.text))
		return false;
	while (digits < rest.length && is_digit(rest.text[digits]))
		digits++;
	return *rest.text != ' ' ||
	       (digits > 1 && digits < rest.length && rest.text[digits] == 'x');
}

/* "write 2xH100+6xA100", if groups were joined otherwise; NULL: the text is something else. */
static const char *joined(struct span text, char *ret, size_t size)
{
	CLEANUP(strbuf_free) struct strbuf buf = {0};
	bool good = true;

	strbuf_puts(&buf, "write ");
	for (size_t i = 0; good && i < text.length; i++) {
		struct span group = {&text.text[i], 0};

		for (; i < text.length && text.text[i] != '+'; i++, group.length++)
			if (is_joint(span_behind(text, i)))
				break;
		group = span_trim(group);
		if (group.length && buf.length > strlen("write "))
			strbuf_puts(&buf, "+");
		strbuf_add(&buf, group.text, group.length);
		good = !group.length || is_group(group);
	}
	good = good && !buf.failed && buf.length < size;
	if (good)
		snprintf(ret, size, "%s", buf.text);
	return good ? ret : NULL;
}

static int bad(struct span text, gpumap_report *report)
{
	char fix[200];
	const char *known = joined(text, fix, sizeof(fix));

	return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
			   ABOUT(.origin = "--inventory",
				 .fix = known ? known
					      : "write a number of GPUs, or COUNTxMODEL joined by "
						"+, as in 2xH100+6xA100"),
			   "no such machine: '%s'", QUOTE(text));
}

static int too_many(gpumap_report *report)
{
	return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT, ABOUT(.origin = "--inventory"),
			   "more than %d GPUs", GPUMAP_MAX_DEVICES);
}

/* "H100,6xA100": another group follows. */
static bool is_joined(struct span model)
{
	for (size_t i = 0; i < model.length; i++)
		if (is_joint(span_behind(model, i)))
			return true;
	return false;
}

/* "H100:mig" or "1g.10gb" */
static bool is_mig(struct span model)
{
	size_t digits = 0;

	while (digits < model.length && is_digit(model.text[digits]))
		digits++;
	return memchr(model.text, ':', model.length) ||
	       (digits && digits + 1 < model.length && model.text[digits] == 'g' &&
		model.text[digits + 1] == '.');
}

static int add_group(gpumap_inventory *inventory, int64_t count, struct span model,
		     gpumap_report *report)
{
	int64_t memory = -1;

	for (int64_t i = 0; i < count; i++) {
		gpumap_device *d = inventory_add(inventory);

		if (!d)
			return inventory->count >= GPUMAP_MAX_DEVICES ? too_many(report)
								      : report_nomem(report);
		d->index = (int)inventory->count - 1;
		if (model.length && !member_set(&d->name, model))
			return report_nomem(report);
		memory = i ? memory : model_memory(d->name);
		d->memory = memory;
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
			model = span_behind(group, number.length + 1);
			if (!model.length || is_joined(model))
				return bad(text, report);
			if (is_mig(model))
				return report_fail(report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
						   ABOUT(.origin = "--inventory",
							 .fix = "record one: nvidia-smi -L >FILE"),
						   "no such machine: '%s': MIG instances need a "
						   "recording",
						   QUOTE(text));
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
	return give_inventory(ret, inventory, r);
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
