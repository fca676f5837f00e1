/* SPDX-License-Identifier: MIT */
/* What would fail if the ranks were launched this way: rules R3 and G10. */
#include "plan/build.h"

/* --- what gpumap_resolve found ------------------------------------------------------ */

/* The words of the settings that make a cell of rule R3's table. */
static const char *cell(struct quoted *ret, const struct plan_settings *settings)
{
	const char *device = settings->device.use.text, *current = settings->set_device.use.text;

	return format_text(ret, SETTING("share = %s") "%s%s",
			   KEY_WORD(PKEY_PROFILE_share, settings->share.word),
			   device && *device ? FORMAT(", " SETTING("device = %.40s"), device) : "",
			   current && *current ? FORMAT(", " SETTING("set_device = %.40s"), current)
					       : "");
}
#define CELL(settings) cell(&(struct quoted){{0}}, settings)

/* By what the program picks its device. */
static enum device_use_kind pick_of(const struct plan_settings *settings)
{
	enum device_use_kind device = settings->device.use.kind;

	return device == USE_NOTHING || device == USE_CURRENT ? settings->set_device.use.kind
							      : device;
}

/* Whether the list has MIG instances of which CUDA shows one process only some (rule V9). */
static bool hides_instances(const struct host_class *class)
{
	size_t instances = 0;

	for (size_t i = 0; i < class->count; i++)
		instances += class->devices[i]->mig_position >= 0;
	return instances > 1;
}

static const char *mig_fix(const struct builder *b, const struct plan_settings *settings)
{
	if (!plan_one_each(b, settings))
		return "use GPUs without MIG, or start one rank for each MIG instance, "
		       "with " SETTING("share = isolate");
	return settings->share.word == PLAN_SHARE_ISOLATE
		       ? "let the program use cuda:0: one process cannot use all MIG instances"
		       : "write " SETTING(
				 "share = isolate") ", and let the program use cuda:0: one "
						    "process cannot use all MIG instances";
}

/* Which other cell of the row or column works. */
static const char *clash_fix(const struct builder *b, const struct host_class *class)
{
	const struct plan_settings *settings = class->settings;
	enum device_use_kind pick = pick_of(settings);

	if (hides_instances(class))
		return mig_fix(b, settings);
	if (!plan_one_each(b, settings))
		return b->input->settings->mode.word == PLAN_MP
			       ? "write " SETTING("device = cuda:%l") " for a stage on each, "
								      "or " SETTING(
									      "share = isolate")
			       : "write " SETTING(
					 "share = isolate") " and name devices from cuda:0 on, or "
							    "start one rank for each host";
	if (pick == USE_LOCAL_RANK)
		return "write " SETTING("share = list") ", or let the program use cuda:0";
	if (pick == USE_RANK)
		return "let the program use its local rank, not its rank, with " SETTING(
			"share = list");
	if (pick == USE_MODULO)
		return settings->share.word == PLAN_SHARE_LIST
			       ? "let the program use its local rank, or write " SETTING(
					 "share = isolate")
			       : "write " SETTING("share = isolate");
	if (pick == USE_LOCAL_MODULO)
		return "write " SETTING("share = list") " or " SETTING("share = isolate");
	if (pick == USE_NUMBER && settings->share.word != PLAN_SHARE_LIST)
		return "let the program use cuda:0 with " SETTING("share = isolate");
	return "use LOCAL_RANK in the program, or write " SETTING("share = isolate") " with cuda:0";
}

static bool device_is_read(const struct plan_settings *settings)
{
	return settings->device.use.text && speech_of_program(settings->device.place.origin);
}

/* The remedy if no option gives the number of ranks and the program does not use ranks: it may be a
 * script of one process. */
static const char *plain_fix(struct quoted *ret, const struct builder *b,
			     const struct host_class *class)
{
	const struct plan_settings *settings = class->settings;
	const char *fix = clash_fix(b, class);

	if (b->input->settings->mode.word != PLAN_DDP || b->input->host_count > 1 ||
	    b->input->settings->world_size.number != PLAN_AUTO ||
	    settings->ranks.number != PLAN_AUTO || use_is_by_rank(pick_of(settings)))
		return fix;
	return format_text(ret, "%s; if the program is one process, write " SETTING("ranks = 1"),
			   fix);
}

/* A fault that depends on a device that was read from the program is only a warning where lint does
 * not refuse it, and where the program may mean it. Returns the remedy. */
static const char *doubted(struct quoted *ret, enum finding_id *id, const char *fix)
{
	*id = FINDING_READ_DEVICE;
	return format_text(ret, "%.250s; " SETTING("device = unknown") " leaves out this check",
			   fix);
}

/* Whether there is an answer even if the device is not known. */
static bool answers_without(struct builder *b, const struct layout *layout, size_t l)
{
	struct plan_settings settings = *layout->class->settings;
	struct host_class class = *layout->class;
	struct layout without = *layout;
	OWNED(mapping) *mapping = NULL;

	settings.device.use = (struct device_use){.kind = USE_NOTHING};
	class.settings = &settings;
	without.class = &class;
	if (layout_ask(&mapping, b, &without, l, NULL) == GPUMAP_ENOMEM)
		b->temp.failed = true;
	return mapping && mapping->answered;
}

static void carry_error(struct builder *b, const struct layout *layout, size_t l,
			const gpumap_finding *finding)
{
	enum finding_id id = finding_by_id(gpumap_finding_str(finding, GPUMAP_FINDING_ID));
	const char *rule = gpumap_finding_str(finding, GPUMAP_FINDING_RULE);
	bool ordinal = id == FINDING_INVALID_ORDINAL;
	const struct plan_settings *settings = layout->class->settings;
	const struct plan_place *place =
		settings->device.use.text ? &settings->device.place : &settings->set_device.place;
	const char *fix = ordinal ? clash_fix(b, layout->class)
				  : gpumap_finding_str(finding, GPUMAP_FINDING_FIX);
	size_t rank = layout->host->first_rank + l;
	const char *local = rank == l ? "" : FORMAT(", local rank %zu", l), *starts = "";
	struct quoted buf;

	if (device_is_read(settings) && answers_without(b, layout, l)) {
		fix = doubted(&buf, &id, fix ? fix : clash_fix(b, layout->class));
		if (ordinal && settings->lint.word == PLAN_LINT_REFUSE) {
			id = FINDING_INVALID_ORDINAL;
			starts = " (" SETTING("lint = warn") " starts it anyway)";
		}
	}
	plan_report(b, id,
		    ABOUT(.rule = ordinal ? "R3" : rule,
			  .origin = ordinal ? place->origin
					    : gpumap_finding_str(finding, GPUMAP_FINDING_ORIGIN),
			  .line = ordinal ? place->line : 0, .column = ordinal ? place->column : 0,
			  .fix = fix),
		    "rank %zu%s of %s (%s): %s%s%s", rank, local, layout->host->name,
		    CELL(settings), gpumap_finding_str(finding, GPUMAP_FINDING_TEXT),
		    MORE_HOSTS(layout->host_count), starts);
}

void layout_carry(struct builder *b, struct layout *layout, size_t l, const gpumap_mapping *mapping,
		  const gpumap_report *report)
{
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);
		enum finding_id id = finding_by_id(gpumap_finding_str(f, GPUMAP_FINDING_ID));
		int64_t severity = gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY);

		if (severity == GPUMAP_SEVERITY_ERROR && !mapping->answered && !layout->failing++)
			carry_error(b, layout, l, f);
		/* A warning is about the list or the program, so it is reported once. */
		if (severity == GPUMAP_SEVERITY_WARNING && !b->reported[id])
			plan_report(b, id,
				    ABOUT(.rule = gpumap_finding_str(f, GPUMAP_FINDING_RULE),
					  .origin = gpumap_finding_str(f, GPUMAP_FINDING_ORIGIN),
					  .fix = gpumap_finding_str(f, GPUMAP_FINDING_FIX)),
				    "local rank %zu of %s: %s", l, layout->host->name,
				    gpumap_finding_str(f, GPUMAP_FINDING_TEXT));
	}
}

/* --- ranks against each other -------------------------------------------------------- */

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
	const char *fix = plain_fix(&plain, b, layout->class);
	const char *which =
		!more ? FORMAT("local ranks %zu and %zu", first, load->other)
		: more + 2 == layout->plan->count
			? FORMAT("all %zu ranks", more + 2)
			: FORMAT("local ranks %zu, %zu and %zu more", first, load->other, more);

	if (read)
		fix = doubted(&buf, &id, fix);
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
