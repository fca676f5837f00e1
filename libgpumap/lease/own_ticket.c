/* SPDX-License-Identifier: MIT */
/* The ticket of a job that waits: what it names. */
#include "lease/attempt.h"

#include "lease/wishes.h"
#include "memory.h"
#include "report/report.h"

/* The names of the first `count` GPUs of the order that it may use. */
static char *own_names(const gpumap_inventory *inventory, const struct lease_wish *own,
		       size_t count)
{
	struct strbuf names = {0};

	for (size_t i = 0; i < count; i++) {
		size_t g = own->order[i];

		if (own->usable[g])
			strbuf_printf(&names, "%s%s", names.length ? " " : "",
				      LEASE_NAME(&inventory->gpus[g]));
	}
	return strbuf_take(&names);
}

/* Adds the units to the ticket that came since it was written. If they cannot be written, this job
 * can still get them, but is not promised them. */
static int update_ticket(struct taking *t, const struct lease_wish *own)
{
	CLEANUP_FREE char *names = own_names(t->lease->inventory, own, t->lease->inventory->count);
	CLEANUP(strbuf_free) struct strbuf fresh = {0};
	struct span rest, name;
	char *all;

	if (!names)
		return report_nomem(t->report);
	rest = span_of(names);
	while (span_split(&rest, ' ', &name))
		if (!span_is_any(name, t->named))
			strbuf_printf(&fresh, "%s%.*s", fresh.length ? " " : "", (int)name.length,
				      name.text);
	if (!fresh.failed && (!fresh.length || !lease_queue_add(t->ticket, fresh.text)))
		return GPUMAP_OK;
	if (fresh.failed || xasprintf(&all, "%s %s", t->named, fresh.text) < 0)
		all = NULL;
	if (!all)
		return report_nomem(t->report);
	free(t->named);
	t->named = all;
	return GPUMAP_OK;
}

int own_ticket(struct taking *t, const struct wishes *wishes)
{
	const struct lease_wish *own = &wishes->list[wishes->count];
	const gpumap_inventory *inventory = t->lease->inventory;
	struct lease_ticket wish = {.count = t->claim->count, .terms = t->claim->terms};
	int r = GPUMAP_ENOMEM;

	if (t->ticket >= 0)
		return update_ticket(t, own);
	if (lease_queue_check(wishes->tickets, wishes->count, t->report) != GPUMAP_OK)
		return GPUMAP_EINPUT;
	wish.from = own_names(inventory, own, inventory->count);
	wish.prefer = own_names(inventory, own, own->preferred);
	if (wish.from && wish.prefer)
		r = lease_queue_join(&t->ticket, &t->number, &t->folder, &wish);
	t->named = wish.from;
	free(wish.prefer);
	return r == GPUMAP_EFILE    ? taking_failed(t, "the queue cannot be joined")
	       : r == GPUMAP_ENOMEM ? report_nomem(t->report)
				    : r;
}
