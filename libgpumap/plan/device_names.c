/* SPDX-License-Identifier: MIT */
/* Rule N5: how devices are written into a child's list. */
#include "plan/build.h"

/* Several hosts cannot have GPUs with the same UUIDs, so their snapshot is that of one example
 * host. */
static bool inventory_is_shared(const struct builder *b, const struct host_class *class)
{
	struct table_key key = {{(uintptr_t) class->host->inventory}};
	const size_t *hosts = table_find(&b->inventories, key);

	return *hosts > 1;
}

static void report_numbers(struct builder *b, const struct host_class *class, const char *why,
			   const char *fix)
{
	plan_report(b, FINDING_PLAN_UNKNOWN,
		    ABOUT(.rule = "N5", .origin = class->settings->ids.place.origin,
			  .line = class->settings->ids.place.line, .fix = fix),
		    "%s, so the ranks of %s%s get GPU numbers, with CUDA_DEVICE_ORDER=PCI_BUS_ID",
		    why, class->host->name, MORE_HOSTS(class->host_count));
}

/* A number refers to the devices that the container shows, which is not known here. */
static void check_container(struct builder *b, const struct host_class *class)
{
	for (size_t i = 0; i < class->host->inherited_count; i++) {
		const struct plan_inherited *limit = &class->host->inherited[i];

		if (limit->kind == PLAN_LIMIT_CONTAINER &&
		    limit->mapping->visible_count < class->host->inventory->count)
			plan_report(b, FINDING_LEAKED_LIST,
				    ABOUT(.rule = "L2", .origin = limit->origin,
					  .fix = "write " SETTING(
						  "ids = uuid") ", or plan inside the container"),
				    "the list of %s%s holds the host's numbers, but inside the "
				    "container they count from 0",
				    class->host->name, MORE_HOSTS(class->host_count));
	}
}

static void choose_kind(struct builder *b, struct host_class *class, bool shared)
{
	bool named = true, migs = false;

	for (size_t i = 0; i < class->count; i++) {
		named = named && class->devices[i]->uuid;
		migs = migs || class->devices[i] != class->devices[i]->gpu;
	}
	class->by_number = class->settings->ids.word == PLAN_IDS_INDEX || !named || shared;
	if (!class->by_number || !class->count)
		return;
	if (migs) {
		class->bad = true;
		plan_report(
			b,
			shared && class->settings->ids.word != PLAN_IDS_INDEX ? FINDING_NO_INVENTORY
									      : FINDING_BAD_VALUE,
			ABOUT(.rule = "V9", .origin = class->settings->ids.place.origin,
			      .line = class->settings->ids.place.line,
			      .fix = shared ? RECORD_HOSTS
					    : "write " SETTING("ids = uuid") " with an inventory "
									     "that has UUIDs"),
			"a MIG instance of %s has no number, and %s%s", class->host->name,
			shared   ? "one snapshot's UUIDs are not those of several hosts"
			: !named ? "its UUID is not known"
				 : SETTING("ids = index") " wants one",
			MORE_HOSTS(class->host_count));
		return;
	}
	if (class->settings->ids.word == PLAN_IDS_INDEX || class->host->inventory->assumed)
		; /* numbers were asked for, or nothing else is known */
	else if (!named)
		report_numbers(b, class, "the UUIDs are not known",
			       "record the host with gpumap inventory --save");
	else
		report_numbers(b, class, "the UUIDs are known for one host only", RECORD_HOSTS);
	check_container(b, class);
}

static int by_number(const void *a, const void *b)
{
	const struct plan_device *one = a, *other = b;

	return (one->physical > other->physical) - (one->physical < other->physical);
}

static const struct plan_device *find_gpu(const struct plan_device *gpus, size_t count,
					  const gpumap_device *d)
{
	const struct plan_device wanted = {.physical = d->physical};

	return bsearch(&wanted, gpus, count, sizeof(wanted), by_number);
}

/* A text of the plan: `same` if it is equal, else a copy. */
static const char *shared_text(struct builder *b, const char *same, const char *text)
{
	return same && text && streq(same, text) ? same : arena_strdup(b->arena, text);
}

/* Copies all GPUs, also those that were not chosen. Hosts of one kind share equal texts. */
static bool copy_host(struct builder *b, struct host_class *class)
{
	const gpumap_inventory *inventory = class->host->inventory;
	const struct plan_device *like = class->kind ? class->kind->gpus : NULL;
	struct plan_device same = {.physical = -1};

	class->gpus = arena_alloc(b->arena, inventory->count + 1, sizeof(*class->gpus));
	if (!class->gpus)
		return false;
	for (size_t i = 0; i < inventory->count; i++) {
		const gpumap_device *d = &inventory->gpus[i];

		if (like)
			same = *find_gpu(like, inventory->count, d);
		class->gpus[i] = (struct plan_device){
			.physical = d->physical,
			.mig = d->mig_position,
			.uuid = arena_strdup(b->arena, d->uuid),
			.pci = shared_text(b, same.pci, d->pci),
			.name = shared_text(b, same.name, d->name),
		};
		same.name = class->gpus[i].name;
	}
	qsort(class->gpus, inventory->count, sizeof(*class->gpus), by_number);
	if (class->kind && !like)
		class->kind->gpus = class->gpus;
	return true;
}

static struct plan_device copy_device(struct builder *b, const struct host_class *class,
				      const gpumap_device *d)
{
	struct plan_device copy = *find_gpu(class->gpus, class->host->inventory->count, d);

	if (d != d->gpu) {
		copy.mig = d->mig_position;
		copy.uuid = arena_strdup(b->arena, d->uuid);
	}
	return copy;
}

int name_devices(struct builder *b, struct host_class *class)
{
	choose_kind(b, class, inventory_is_shared(b, class));
	class->device_order = class->count && class->by_number ? "PCI_BUS_ID" : NULL;
	class->copies = arena_alloc(b->arena, class->count + 1, sizeof(*class->copies));
	class->names = arena_alloc(&b->scratch, class->count + 1, sizeof(*class->names));
	if (!class->copies || !class->names || !copy_host(b, class))
		return plan_nomem(b);
	for (size_t i = 0; i < class->count; i++) {
		const gpumap_device *d = class->devices[i];

		class->copies[i] = copy_device(b, class, d);
		class->names[i] = class->by_number ? arena_printf(&b->scratch, "%d", d->physical)
						   : class->copies[i].uuid;
	}
	return b->arena->failed || b->scratch.failed ? plan_nomem(b) : GPUMAP_OK;
}
