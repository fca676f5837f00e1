/* SPDX-License-Identifier: MIT */
/* Reports of the stages: findings, which may be alike on many hosts, and steps. */
#include "plan/build.h"

int plan_nomem(struct builder *b)
{
	return report_nomem(b->report);
}

const char *more_hosts(struct quoted *ret, size_t host_count)
{
	return host_count > 1 ? format_text(ret, " (and %zu more host%s)", host_count - 1,
					    host_count == 2 ? "" : "s")
			      : "";
}

const char *device_label(struct quoted *ret, const gpumap_device *device)
{
	if (device->physical < 0)
		return format_text(ret, "%.100s", device->uuid ? device->uuid : "a device");
	if (device->mig_position >= 0)
		return format_text(ret, "MIG instance %d of GPU %d", device->mig_position,
				   device->physical);
	return format_text(ret, "GPU %d", device->physical);
}

/* The number of findings of one id that are given in full. */
enum { MAX_ALIKE = 8 };

void plan_report(struct builder *b, enum finding_id id, const struct about *about,
		 const char *format, ...)
{
	struct about here = *about;
	enum gpumap_severity severity;
	const char *name;
	va_list args;

	finding_meaning((size_t)id, &name, &severity);
	b->failed = b->failed || severity == GPUMAP_SEVERITY_ERROR;
	if (b->reported[id]++ >= MAX_ALIKE || !b->report)
		return;
	here.speech = b->input->speech;
	va_start(args, format);
	report_vadd(b->report, id, &here, format, args);
	va_end(args);
}

void plan_report_rest(struct builder *b)
{
	for (size_t i = 0; i < FINDING_COUNT; i++)
		if (b->reported[i] > MAX_ALIKE)
			report_add(b->report, (enum finding_id)i, NULL,
				   "%zu more of this kind, on other hosts",
				   b->reported[i] - MAX_ALIKE);
}

void plan_step(struct builder *b, const char *rule, const char *origin, const char *format, ...)
{
	enum { MAX_STEPS = 64 }; /* those of more hosts are left out, as findings are */
	gpumap_plan *plan = b->plan;
	struct plan_step *grown;
	va_list args;

	if (plan->step_count == MAX_STEPS)
		return;
	grown = arena_room(b->arena, plan->steps, plan->step_count, &b->step_room, sizeof(*grown));
	if (!grown)
		return;
	plan->steps = grown;
	va_start(args, format);
	plan->steps[plan->step_count] =
		(struct plan_step){.rule = rule,
				   .text = arena_vprintf(b->arena, format, args),
				   .origin = arena_strdup(b->arena, origin)};
	plan->step_count++;
	va_end(args);
}
