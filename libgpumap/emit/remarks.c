/* SPDX-License-Identifier: MIT */
/* What a launcher loses, changes or cannot do. */
#include "emit/emit.h"

#include <stdio.h>

static void remark(struct emitter *e, enum finding_id id, const char *fix, const char *format,
		   va_list args) PRINTF(4, 0);
static void remark(struct emitter *e, enum finding_id id, const char *fix, const char *format,
		   va_list args)
{
	const struct speech speech = job_speech(e->plan);
	struct strbuf text = {0};

	strbuf_vprintf(&text, format, args);
	e->out.failed = e->out.failed || text.failed;
	report_add(e->report, id, ABOUT(.origin = e->target, .fix = fix, .speech = &speech), "%s",
		   text.text ? text.text : "");
	strbuf_free(&text);
}

void emit_remark(struct emitter *e, enum finding_id id, const char *fix, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	remark(e, id, fix, format, args);
	va_end(args);
}

void emit_refuse(struct emitter *e, const char *fix, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	remark(e, FINDING_LAUNCHER_CANNOT, fix, format, args);
	va_end(args);
	e->refused = true;
}

/* Cores and memory are bound without being asked for. */
static bool is_bound(const struct emitter *e, const char *key)
{
	bool cpus = streq(key, "cpu_bind");

	if (!cpus && !streq(key, "mem_bind"))
		return false;
	for (size_t i = 0; i < e->node_count; i++) {
		const struct plan_layout *layout = e->nodes[i].host->layout;

		if (i && layout == e->nodes[i - 1].host->layout)
			continue;
		for (size_t l = 0; l < layout->count; l++)
			if (cpus ? layout->slots[l].cpus : layout->slots[l].nodes)
				return true;
	}
	return false;
}

void emit_loses(struct emitter *e, const char *const *keys)
{
	struct strbuf lost = {0};

	for (; *keys; keys++) {
		/* Only the keys that are bound count by what the plan holds. */
		bool binds = streq(*keys, "cpu_bind") || streq(*keys, "mem_bind");

		if (binds ? is_bound(e, *keys) : emit_said(e, *keys))
			strbuf_printf(&lost, "%s" SETTING("%s = %s"), lost.length ? ", " : "",
				      *keys, emit_setting(e, *keys));
	}
	if (e->plan->run_named && !e->run_told)
		strbuf_printf(&lost, "%s--rdzv-id %s", lost.length ? ", " : "", e->plan->run);
	e->out.failed = e->out.failed || lost.failed;
	if (lost.text)
		emit_remark(e, FINDING_LAUNCHER_LOSES, "gpumap run does all of them",
			    "this command does not do %s", lost.text);
	strbuf_free(&lost);
}
