/* SPDX-License-Identifier: MIT */
/* From a selection to devices of a class of hosts. */
#include "plan/build.h"

struct picker {
	struct builder *b;
	struct host_class *class;
	struct device_index index;
	bool *taken; /* by place */
};

static bool take(struct picker *k, const gpumap_device *device)
{
	bool *taken = &k->taken[device_place(k->class->host->inventory, device)];

	if (*taken)
		return false;
	*taken = true;
	k->class->devices[k->class->count++] = device;
	return true;
}

/* A GPU with MIG enabled is replaced by its instances. */
static size_t take_all(struct picker *k, const gpumap_device *gpu)
{
	size_t n = 0;

	if (gpu->mig_enabled != 1)
		return take(k, gpu);
	for (size_t m = 0; m < gpu->mig_count; m++)
		n += take(k, &gpu->mig[m]);
	return n;
}

/* --- entries --------------------------------------------------------------------------- */

static void report_bad(struct picker *k, const struct entry *entry, const char *why,
		       const char *fix)
{
	const struct plan_place *place = &k->class->settings->gpus.place;

	plan_report(k->b, FINDING_BAD_SELECTION,
		    ABOUT(.origin = place->origin, .line = place->line,
			  .column = (place->column ? place->column : 1) + (int)entry->column,
			  .fix = fix),
		    SETTING("gpus") ": '%s' %s on %s%s", QUOTE(entry->gpu.text), why,
		    k->class->host->name, MORE_HOSTS(k->class->host_count));
	k->class->bad = true;
}

/* The remedy for a missing number lists the numbers that exist. */
static void report_no_number(struct picker *k, const struct entry *entry)
{
	const gpumap_inventory *inventory = k->class->host->inventory;
	size_t meant = selection_count_meant(k->b, k->class);
	const gpumap_device *last = device_by_number(&k->index, (int64_t)inventory->count - 1);
	bool numbered = last && device_by_number(&k->index, 0);
	const char *known = !numbered ? "gpumap inventory lists the devices"
			    : inventory->count == 1
				    ? "there is GPU 0 alone"
				    : FORMAT("there are GPUs 0 to %d", last->physical);

	report_bad(k, entry, "is not a GPU",
		   meant ? FORMAT("%s; %s", COUNT_FIX(k->b, meant), known) : known);
}

/* Reports one finding, not one for each entry. */
static void report_no_gpu(struct builder *b, struct host_class *class)
{
	const struct plan_place *place = &class->settings->gpus.place;
	size_t meant = selection_count_meant(b, class);
	const char *fix = "write " SETTING("gpus = none") " to start without GPUs, or " SETTING(
		"inventory = 8") " to plan for 8 GPUs";
	struct quoted room;

	if (meant && b->input->scheduled)
		fix = format_text(&room,
				  "write " SETTING("inventory = %zu") " instead of " SETTING(
					  "gpus = %zu") " for nodes with %zu GPU%s each",
				  meant, meant, meant, meant == 1 ? "" : "s");
	else if (b->input->scheduled)
		fix = plan_ask_fix;
	else if (meant && b->input->settings->mode.word == PLAN_DDP)
		fix = format_text(
			&room,
			"write " SETTING("ranks = %zu") " for %zu rank%s without GPUs, or " SETTING(
				"inventory = 8") " to plan for 8 GPUs",
			meant, meant, meant == 1 ? "" : "s");
	class->bad = true;
	plan_report(b, FINDING_NO_DEVICE,
		    ABOUT_PLACE(place, .rule = "E1", .fix = plan_no_gpu_fix(b, class, fix)),
		    SETTING("gpus") ": %s%s", plan_no_gpu(b, class), MORE_HOSTS(class->host_count));
}

static void report_lone_number(struct builder *b, const struct host_class *class)
{
	size_t meant = class->bad ? 0 : selection_count_meant(b, class);
	const char *any_gpu = "for any GPU write " SETTING("ranks = 1") " and leave --gpus out";
	struct quoted fix;

	if (!meant || b->reported[FINDING_LONE_NUMBER])
		return;
	format_text(&fix,
		    "%.200s, for free ones " SETTING("gpus = free:%zu") "; or add " SETTING(
			    "ranks = 1") " to keep GPU %zu",
		    meant == 1 ? any_gpu : COUNT_FIX(b, meant), meant, meant);
	plan_report(b, FINDING_LONE_NUMBER, ABOUT(.origin = "--gpus", .fix = fix.text),
		    "%zu is GPU %zu of %s%s, alone", meant, meant, class->host->name,
		    MORE_HOSTS(class->host_count));
}

static void take_named(struct picker *k, const struct entry *entry)
{
	const gpumap_inventory *inventory = k->class->host->inventory;
	size_t matches = 0;

	for (size_t i = 0; i < inventory->count; i++) {
		const gpumap_device *gpu = &inventory->gpus[i];

		if (!gpu->name || !span_glob(entry->gpu.text, gpu->name))
			continue;
		matches++;
		take_all(k, gpu);
	}
	if (!matches)
		report_bad(k, entry, "is the name of no GPU",
			   "gpumap inventory prints the names; * stands for any text");
}

static void take_entry(struct picker *k, const struct entry *entry)
{
	const gpumap_device *device = NULL;
	bool several = false;

	if (entry->gpu.kind == GPU_NAME) {
		take_named(k, entry);
		return;
	}
	if (entry->gpu.kind == GPU_NUMBER)
		device = device_by_number(&k->index, entry->gpu.number);
	else if (entry->gpu.kind == GPU_PCI)
		device = device_by_name(&k->index, entry->gpu.pci);
	else
		device = device_by_uuid(&k->index, entry->gpu.text, &several);
	if (several)
		report_bad(k, entry, "is the beginning of several UUIDs", "write more of the UUID");
	else if (!device && entry->gpu.kind == GPU_NUMBER)
		report_no_number(k, entry);
	else if (!device)
		report_bad(k, entry, "is not a GPU", "gpumap inventory lists the devices");
	else if (device->mig_enabled == 1 && device == device->gpu)
		report_bad(k, entry, "has MIG enabled and is not a device by itself",
			   "name its instances, MIG-..; gpumap inventory lists them");
	else if (!take(k, device))
		report_bad(k, entry, "is a device that is named already", "name each device once");
}

static const gpumap_device *find_free(const struct device_index *index, struct span entry)
{
	int64_t number = span_number(entry, INT32_MAX);
	bool several = false;
	const gpumap_device *device = number >= 0 ? device_by_number(index, number)
						  : device_by_uuid(index, entry, &several);

	return several ? NULL : device;
}

/* The GPUs or MIG instances that were chosen for gpus = free:COUNT. */
static void take_free(struct picker *k)
{
	struct span rest = span_of(k->class->host->free_gpus), entry;
	const gpumap_device *device;

	while (!k->class->bad && span_split(&rest, ',', &entry)) {
		device = find_free(&k->index, entry);
		if (device && (device != device->gpu || device->mig_enabled != 1) &&
		    take(k, device))
			continue;
		report_bad(k, &(struct entry){.gpu.text = entry}, "is not a free GPU",
			   "take the list from a lease of this host");
	}
}

static const char free_fix[] = "write " SETTING(
	"gpus = inherit") ", and start the other launcher by gpumap pick N -- COMMAND";

/* False, after its error: the GPUs of gpus = free:COUNT are not known. */
static bool knows_free(struct builder *b, struct host_class *class)
{
	const struct plan_place *place = &class->settings->gpus.place;
	bool several = b->input->host_count > 1;

	if (class->selection->kind != PLAN_GPUS_FREE)
		return true;
	class->bad = !class->host->free_gpus || several;
	if (several)
		plan_report(
			b, FINDING_LEASE_NOT_HERE,
			ABOUT_PLACE(place, .fix = "name the GPUs, or start a run for each host"),
			SETTING("gpus") ": a lease of free GPUs is for one host, and the plan has "
					"%zu",
			b->input->host_count);
	else if (class->bad && !class->host->no_free)
		plan_report(
			b, FINDING_LEASE_NOT_HERE, ABOUT_PLACE(place, .fix = free_fix),
			SETTING("gpus") ": gpumap run alone chooses free GPUs, when it starts the "
					"ranks of its host");
	b->failed = b->failed || class->bad;
	return !class->bad;
}

static void pick(struct picker *k)
{
	const gpumap_inventory *inventory = k->class->host->inventory;
	const struct selection *selection = k->class->selection;

	if (selection->kind == PLAN_GPUS_INHERIT && limits_list(k->class->host))
		limits_inherit(k->b, k->class, &k->index);
	else if (selection->kind == PLAN_GPUS_FREE)
		take_free(k);
	else if (selection->kind == PLAN_GPUS_GPU)
		for (size_t i = 0; i < selection->count; i++)
			take_entry(k, &selection->entries[i]);
	else
		for (size_t i = 0; i < inventory->count; i++)
			take_all(k, &inventory->gpus[i]);
}

static int apply_limits(struct builder *b, struct host_class *class,
			const struct device_index *index)
{
	const struct plan_inherited *list = limits_list(class->host);
	bool inherit = class->selection->kind == PLAN_GPUS_INHERIT;
	int r = GPUMAP_OK;

	for (size_t i = 0; r == GPUMAP_OK && i < class->host->inherited_count && !class->bad; i++) {
		const struct plan_inherited *limit = &class->host->inherited[i];

		if (limit->kind >= PLAN_LIMIT_RUN)
			r = own_gpus_apply(b, class, limit, index);
		else if (!inherit || limit != list)
			r = limit_apply(b, class, limit, index);
	}
	return r;
}

int selection_apply(struct builder *b, struct host_class *class)
{
	const gpumap_inventory *inventory = class->host->inventory;
	struct picker k = {.b = b, .class = class};
	bool named = class->selection->kind == PLAN_GPUS_GPU ||
		     class->selection->kind == PLAN_GPUS_FREE || class->host->inherited_count;
	int r;

	if (class->selection->kind == PLAN_GPUS_NONE) {
		class->without = true;
		return GPUMAP_OK;
	}
	if (!knows_free(b, class))
		return GPUMAP_OK;
	if (!inventory) {
		class->bad = true;
		plan_report(b, FINDING_NO_INVENTORY,
			    ABOUT(.fix = "if each has 8, write " SETTING(
					  "inventory = 8") "; or " RECORD_HOSTS),
			    "gpumap does not log in to %s%s, so it does not know their GPUs",
			    class->host->name, MORE_HOSTS(class->host_count));
		return GPUMAP_OK;
	}
	if (inventory_unnumbered(inventory)) {
		class->bad = true;
		plan_report(b, FINDING_NO_INVENTORY,
			    ABOUT(.origin = inventory->origin,
				  .fix = "record the machine with nvidia-smi -L"),
			    "nvidia-smi's numbers of the GPUs of %s are not known%s",
			    class->host->name, MORE_HOSTS(class->host_count));
		return GPUMAP_OK;
	}
	if (!inventory->count && class->selection->kind == PLAN_GPUS_GPU) {
		report_no_gpu(b, class);
		return GPUMAP_OK;
	}
	class->devices =
		arena_alloc(&b->scratch, device_total(inventory) + 1, sizeof(*class->devices));
	k.taken = arena_alloc(&b->temp, device_places(inventory) + 1, sizeof(*k.taken));
	if (!class->devices || !k.taken)
		return plan_nomem(b);
	r = device_index_make(b, inventory, named, &k.index);
	if (r == GPUMAP_OK)
		pick(&k);
	if (r == GPUMAP_OK && !class->bad)
		r = apply_limits(b, class, &k.index);
	if (r == GPUMAP_OK && !class->bad)
		r = order_rank_devices(b, class, &k.index);
	device_index_free(&k.index);
	report_lone_number(b, class);
	return r == GPUMAP_OK && !class->bad ? name_devices(b, class) : r;
}
