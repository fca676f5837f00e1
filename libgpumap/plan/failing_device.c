/* SPDX-License-Identifier: MIT */
/* What becomes of a device that a rank cannot use: an error, or a warning if it was read from the
 * program. */
#include "plan/build.h"

bool device_is_read(const struct plan_settings *settings)
{
	return settings->device.use.text && speech_of_program(settings->device.place.origin);
}

const char *device_doubted(struct quoted *ret, enum finding_id *id, const char *fix)
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
		fix = device_doubted(&buf, &id, fix ? fix : clash_fix(b, layout->class));
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
