/* SPDX-License-Identifier: MIT */
/* Rule S6a, on_conflict: an inherited list or a grant limits a selection, which may override a
 * list. */
#include "plan/build.h"

#include "plan/job.h"
#include "strbuf.h"

static const char *limit_name(const struct plan_inherited *limit)
{
	static const char *const names[] = {"the shell's list", "the scheduler's grant",
					    "the container's grant"};

	return names[limit->kind];
}

/* An entry that can be several compute instances; NULL: there is none. */
static const gpumap_entry *shared_instance(const gpumap_mapping *mapping)
{
	for (size_t i = 0; i < mapping->visible_count; i++)
		if (entry_shares_instance(&mapping->visible[i]))
			return &mapping->visible[i];
	return NULL;
}

/* Even if the order is not known the set can be: every entry then can be any of as many devices as
 * there are entries. */
static bool set_is_certain(const gpumap_mapping *mapping)
{
	const gpumap_entry *first = mapping->visible;

	if (shared_instance(mapping))
		return false;
	for (size_t i = 0; i < mapping->visible_count; i++)
		if (!entry_decided(&mapping->visible[i]) &&
		    (mapping->visible[i].candidates != first->candidates ||
		     mapping->visible[i].count != mapping->visible_count))
			return false;
	return true;
}

static bool order_is_certain(const gpumap_mapping *mapping)
{
	for (size_t i = 0; i < mapping->visible_count; i++)
		if (!entry_decided(&mapping->visible[i]))
			return false;
	return true;
}

/* The i-th device of a set that is certain. */
static const gpumap_device *limit_device(const gpumap_mapping *mapping, size_t i)
{
	const gpumap_entry *entry = &mapping->visible[i];

	return entry->candidates[entry_decided(entry) ? 0 : i];
}

static void report_undecidable(struct builder *b, struct host_class *class,
			       const struct plan_inherited *limit, const char *what)
{
	const gpumap_entry *shared = shared_instance(limit->mapping);

	class->bad = true;
	if (shared) {
		plan_report(b, FINDING_UNDECIDABLE,
			    ABOUT(.rule = "V9", .origin = limit->origin, .fix = "name only one"),
			    "%s of %s cannot be decided: it names %zu compute instances of one GPU "
			    "instance, and CUDA picks one of these%s",
			    what, limit_name(limit), shared->count, MORE_HOSTS(class->host_count));
		return;
	}
	plan_report(
		b, FINDING_UNDECIDABLE,
		ABOUT(.rule = "N4", .origin = limit->origin,
		      .fix = "set CUDA_DEVICE_ORDER=PCI_BUS_ID where the list is made, use UUIDs "
			     "there, or measure with gpumap inventory --ask-driver"),
		"%s of %s cannot be decided: its numbers depend on CUDA's order%s", what,
		limit_name(limit), MORE_HOSTS(class->host_count));
}

const struct plan_inherited *limits_list(const struct plan_host_input *host)
{
	size_t i = host->inherited_count;

	while (i && host->inherited[i - 1].kind >= PLAN_LIMIT_RUN)
		i--;
	return i ? &host->inherited[i - 1] : NULL;
}

void limits_inherit(struct builder *b, struct host_class *class, const struct device_index *index)
{
	const struct plan_inherited *limit = limits_list(class->host);
	const gpumap_mapping *mapping = limit->mapping;
	bool any_order = class->settings->order.word != PLAN_LISTED;

	if (!set_is_certain(mapping)) {
		report_undecidable(b, class, limit, "the GPUs");
		return;
	}
	if (!any_order && !order_is_certain(mapping)) {
		report_undecidable(b, class, limit, "the order");
		return;
	}
	/* CUDA hides some compute instances, so there are never more than places. */
	for (size_t i = 0; i < mapping->visible_count; i++) {
		const gpumap_device *seen = limit_device(mapping, i);
		const gpumap_device *device = device_original(index, seen);

		if (!device) {
			class->bad = true;
			plan_report(b, FINDING_BAD_SELECTION,
				    ABOUT(.rule = "S6a", .origin = limit->origin,
					  .fix = "record the host's inventory anew"),
				    "%s has %s, which the inventory of %s lacks%s",
				    limit_name(limit), DEVICE_LABEL(seen), class->host->name,
				    MORE_HOSTS(class->host_count));
			return;
		}
		if (class->count < device_total(class->host->inventory))
			class->devices[class->count++] = device;
	}
	plan_step(b, "S6a", limit->origin, "gpus = inherit: %zu device%s of %s on %s%s",
		  class->count, class->count == 1 ? "" : "s", limit_name(limit), class->host->name,
		  MORE_HOSTS(class->host_count));
}

const gpumap_device *const *limit_devices(const gpumap_mapping *mapping, size_t i, size_t *count)
{
	const gpumap_entry *entry = &mapping->visible[i];
	bool shared = entry_shares_instance(entry);

	*count = shared ? entry->count : 1;
	return &entry->candidates[shared || entry_decided(entry) ? 0 : i];
}

bool *inside_limit(struct builder *b, const struct host_class *class, const gpumap_mapping *mapping,
		   const struct device_index *index, size_t *kept)
{
	const gpumap_inventory *inventory = class->host->inventory;
	bool *places = arena_alloc(&b->temp, device_places(inventory) + 1, sizeof(*places));
	bool *inside = arena_alloc(&b->temp, class->count + 1, sizeof(*inside));

	*kept = 0;
	if (!places || !inside)
		return NULL;
	for (size_t i = 0; i < mapping->visible_count; i++) {
		size_t count;
		const gpumap_device *const *devices = limit_devices(mapping, i, &count);

		for (size_t k = 0; k < count; k++) {
			const gpumap_device *device = device_original(index, devices[k]);

			if (device)
				places[device_place(inventory, device)] = true;
		}
	}
	for (size_t i = 0; i < class->count; i++) {
		const gpumap_device *d = class->devices[i];

		inside[i] = places[device_place(inventory, d)] ||
			    places[device_place(inventory, d->gpu)];
		*kept += inside[i];
	}
	return inside;
}

void label_outside(struct strbuf *buf, const struct host_class *class, const bool *inside)
{
	enum { MAX_LISTED = 4 };
	size_t n = 0;

	for (size_t i = 0; i < class->count; i++) {
		if (inside[i])
			continue;
		if (n++ < MAX_LISTED)
			strbuf_printf(buf, "%s%s", n > 1 ? ", " : "",
				      DEVICE_LABEL(class->devices[i]));
	}
	if (n > MAX_LISTED)
		strbuf_printf(buf, " and %zu more", n - MAX_LISTED);
}

/* The remedy, after that for a number that may be meant as a count. */
static const char *with_count(struct quoted *ret, const struct builder *b,
			      const struct host_class *class, const char *fix)
{
	size_t meant = selection_count_meant(b, class);

	return meant ? format_text(ret, "%.150s; or %s", COUNT_FIX(b, meant), fix) : fix;
}

static void report_outside(struct builder *b, struct host_class *class,
			   const struct plan_inherited *limit, const char *labels)
{
	struct quoted fix;
	const struct plan_place *place = &class->settings->gpus.place;
	const char *more = MORE_HOSTS(class->host_count), *host = class->host->name;
	struct about about = {.rule = "S6a",
			      .origin = place->origin ? place->origin : limit->origin,
			      .line = place->line,
			      .column = place->column};

	if (limit->kind != PLAN_LIMIT_USER) {
		about.fix =
			with_count(&fix, b, class,
				   "write " SETTING("gpus = inherit") ", or ask for these GPUs");
		plan_report(b, FINDING_OUTSIDE_GRANT, &about,
			    SETTING("gpus") ": %s of %s is outside %s (%s)%s", labels, host,
			    limit_name(limit), limit->origin, more);
		class->bad = true;
	} else if (class->settings->on_conflict.word == PLAN_CONFLICT_ERROR) {
		about.fix = with_count(
			&fix, b, class,
			"write " SETTING("gpus = inherit") ", unset the list, or write " SETTING(
				"on_conflict = intersect") " or override");
		plan_report(b, FINDING_LIST_CONFLICT, &about,
			    SETTING("gpus") ": %s of %s is not in %s%s", labels, host,
			    limit_name(limit), more);
		class->bad = true;
	} else if (class->settings->on_conflict.word == PLAN_CONFLICT_INTERSECT) {
		plan_report(b, FINDING_LIST_OVERRULED, &about,
			    SETTING("gpus") ": %s of %s is left out, as %s does not have it%s",
			    labels, host, limit_name(limit), more);
	} else {
		plan_report(b, FINDING_LIST_OVERRULED, &about,
			    SETTING("gpus") ": %s of %s is used although %s does not have it%s",
			    labels, host, limit_name(limit), more);
	}
}

void keep_inside(struct host_class *class, const bool *inside)
{
	size_t kept = 0;

	for (size_t i = 0; i < class->count; i++)
		if (inside[i])
			class->devices[kept++] = class->devices[i];
	class->count = kept;
}

int limit_apply(struct builder *b, struct host_class *class, const struct plan_inherited *limit,
		const struct device_index *index)
{
	bool user = limit->kind == PLAN_LIMIT_USER;
	enum plan_conflict policy = class->settings->on_conflict.word;
	CLEANUP(strbuf_free) struct strbuf labels = {0};
	size_t kept;
	bool *inside;

	if (!set_is_certain(limit->mapping)) {
		if (!user || policy != PLAN_CONFLICT_OVERRIDE)
			report_undecidable(b, class, limit, "the GPUs");
		return GPUMAP_OK;
	}
	inside = inside_limit(b, class, limit->mapping, index, &kept);
	if (!inside)
		return plan_nomem(b);
	if (kept == class->count)
		return GPUMAP_OK;
	label_outside(&labels, class, inside);
	if (labels.failed)
		return plan_nomem(b);
	report_outside(b, class, limit, labels.text);
	if (user && policy == PLAN_CONFLICT_INTERSECT)
		keep_inside(class, inside);
	return GPUMAP_OK;
}
