/* SPDX-License-Identifier: MIT */
/* What would fail if the ranks were launched this way: rules R3 and G10. */
#include "plan/build.h"

static void land(struct layout *layout, size_t l, size_t position)
{
	struct load *load = &layout->load;
	size_t max = (size_t)layout->class->settings->ranks_per_gpu.number;

	if (position == NOWHERE)
		return;
	if (!load->first[position])
		load->first[position] = l + 1;
	if (load->count[position]++ < max)
		return;
	if (!load->surplus++) {
		load->device = position;
		load->other = l;
	}
}

void layout_land(const struct builder *b, struct layout *layout, size_t l,
		 const gpumap_mapping *mapping)
{
	if (layout->unknown_use) {
		layout->load.count[layout->placements[l].own]++;
		return;
	}
	if (mapping && !mapping->answered)
		return;
	if (!mapping || plan_one_each(b, layout->class->settings)) {
		land(layout, l, layout->placements[l].lands);
		return;
	}
	for (size_t i = 0; i < gpumap_mapping_replica_count(mapping); i++)
		land(layout, l, layout_position(layout, l, gpumap_mapping_replica(mapping, i)));
}

static void report_overload(struct builder *b, const struct layout *layout, const struct load *load)
{
	const struct plan_settings *settings = layout->class->settings;
	bool read = device_is_read(settings);
	const struct plan_place *place = read ? &settings->device.place : &settings->share.place;
	size_t first = load->first[load->device] - 1, more = load->surplus - 1;
	enum finding_id id = FINDING_RANKS_COLLIDE;
	struct quoted plain, buf;
	const char *fix = clash_plain_fix(&plain, b, layout->class);
	const char *which =
		!more ? FORMAT("local ranks %zu and %zu", first, load->other)
		: more + 2 == layout->plan->count
			? FORMAT("all %zu ranks", more + 2)
			: FORMAT("local ranks %zu, %zu and %zu more", first, load->other, more);

	if (read)
		fix = device_doubted(&buf, &id, fix);
	plan_report(b, id,
		    ABOUT(.rule = "R3", .origin = place->origin, .line = place->line, .fix = fix),
		    "%s of %s use %s (%s)%s", which, layout->host->name,
		    DEVICE_LABEL(layout->class->devices[load->device]), CELL(settings),
		    MORE_HOSTS(layout->host_count));
}

/* Two ranks with one PCI address are allowed, but NCCL refuses them. */
static void check_address(struct builder *b, const struct layout *layout, const struct load *load)
{
	const struct host_class *class = layout->class;
	const gpumap_device *base = class->host->inventory->gpus, *shared = NULL;
	size_t *users = arena_alloc(&b->temp, class->host->inventory->count, sizeof(*users));

	if (!users || b->input->settings->mode.word != PLAN_DDP)
		return;
	for (size_t i = 0; i < class->count && !shared; i++) {
		const gpumap_device *gpu = class->devices[i]->gpu;

		users[gpu - base] += load->count[i];
		if (users[gpu - base] > 1)
			shared = gpu;
	}
	if (shared)
		plan_report(b, FINDING_SAME_ADDRESS,
			    ABOUT(.rule = "G10", .fix = "use gloo, or one rank for each GPU"),
			    "several ranks of %s run on GPU %d: NCCL refuses that%s",
			    layout->host->name, shared->physical, MORE_HOSTS(layout->host_count));
}

static void report_unknown(struct builder *b, const struct layout *layout)
{
	plan_report(b, FINDING_UNKNOWN_USE,
		    ABOUT(.rule = "R3", .fix = "if each rank uses its local rank, write " SETTING(
						"device = cuda:%l")),
		    "the program's device is not known, so it was not checked on %s%s",
		    layout->host->name, MORE_HOSTS(layout->host_count));
}

int layout_judge(struct builder *b, struct layout *layout)
{
	if (!layout->class->count || !layout->plan->count)
		return GPUMAP_OK;
	if (layout->unknown_use)
		report_unknown(b, layout);
	if (layout->load.surplus)
		report_overload(b, layout, &layout->load);
	else
		check_address(b, layout, &layout->load);
	return b->temp.failed ? plan_nomem(b) : GPUMAP_OK;
}
