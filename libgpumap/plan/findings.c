/* SPDX-License-Identifier: MIT */
/* Reports of the stages: findings, which may be alike on many hosts, and steps. */
#include "plan/build.h"

#include <stdio.h>

#include "strbuf.h"

int plan_nomem(struct builder *b)
{
	return report_nomem(b->report);
}

const char *more_hosts(struct more_hosts *ret, size_t host_count)
{
	if (host_count > 1)
		snprintf(ret->text, sizeof(ret->text), " (and %zu more host%s)", host_count - 1,
			 host_count == 2 ? "" : "s");
	return ret->text;
}

const char *device_label(struct device_label *ret, const gpumap_device *device)
{
	if (device->physical < 0)
		snprintf(ret->text, sizeof(ret->text), "%.100s",
			 device->uuid ? device->uuid : "a device");
	else if (device->mig_position >= 0)
		snprintf(ret->text, sizeof(ret->text), "MIG instance %d of GPU %d",
			 device->mig_position, device->physical);
	else
		snprintf(ret->text, sizeof(ret->text), "GPU %d", device->physical);
	return ret->text;
}

/* The number of findings of one id that are given in full. */
enum { MAX_ALIKE = 8 };

void plan_report(struct builder *b, enum finding_id id, const struct about *about,
		 const char *format, ...)
{
	struct about here = *about;
	CLEANUP(strbuf_free) struct strbuf text = {0};
	enum gpumap_severity severity;
	const char *name;
	va_list args;

	finding_meaning((size_t)id, &name, &severity);
	b->failed = b->failed || severity == GPUMAP_SEVERITY_ERROR;
	if (b->reported[id]++ >= MAX_ALIKE || !b->report)
		return;
	here.speech = b->input->speech;
	va_start(args, format);
	strbuf_vprintf(&text, format, args);
	va_end(args);
	report_text(b->report, id, &here, &text);
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
	gpumap_plan *plan = b->plan;
	va_list args;

	if (plan->step_count == b->step_room) {
		size_t room = b->step_room ? b->step_room * 2 : 8;
		struct plan_step *steps;

		/* Steps of more hosts than this are left out, as findings are. */
		if (room > 64)
			return;
		steps = arena_alloc(b->arena, room, sizeof(*steps));
		if (!steps)
			return;
		if (plan->step_count)
			memcpy(steps, plan->steps, plan->step_count * sizeof(*steps));
		plan->steps = steps;
		b->step_room = room;
	}
	va_start(args, format);
	plan->steps[plan->step_count] =
		(struct plan_step){.rule = rule,
				   .text = arena_vprintf(b->arena, format, args),
				   .origin = arena_strdup(b->arena, origin)};
	plan->step_count++;
	va_end(args);
}
