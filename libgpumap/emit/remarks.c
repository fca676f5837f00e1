/* SPDX-License-Identifier: MIT */
/* What a launcher loses, changes or cannot do. */
#include "emit/emit.h"

#include <stdio.h>

void emit_remark(struct emitter *e, enum finding_id id, const char *fix, const char *format, ...)
{
	const struct speech speech = job_speech(e->plan);
	enum gpumap_severity severity;
	const char *name;
	va_list args;

	finding_meaning(id, &name, &severity);
	e->refused = e->refused || severity == GPUMAP_SEVERITY_ERROR;
	va_start(args, format);
	report_vadd(e->report, id, ABOUT(.origin = e->target, .fix = fix, .speech = &speech),
		    format, args);
	va_end(args);
}

bool emit_has_names(struct emitter *e)
{
	bool has = e->node_count == 1 || emit_named(e);

	if (!has)
		emit_remark(e, FINDING_LAUNCHER_CANNOT, "write " SETTING("hosts = NAME,..."),
			    "%s needs the names of the %zu hosts", e->target, e->node_count);
	return has;
}

/* Whether cores or memory are bound. The default binds them too. */
static bool is_bound(const struct emitter *e, bool cpus)
{
	for (size_t i = 0; i < e->node_count; i++) {
		const struct plan_layout *layout = e->nodes[i].host->layout;

		if (i && layout == e->nodes[i - 1].host->layout)
			continue;
		for (size_t l = 0; l < layout->count; l++)
			if (cpus ? layout->ranks[l].cpus : layout->ranks[l].nodes)
				return true;
	}
	return false;
}

static bool is_asked(const struct emitter *e, enum profile_key_id id)
{
	if (id == PKEY_PROFILE_cpu_bind || id == PKEY_PROFILE_mem_bind)
		return is_bound(e, id == PKEY_PROFILE_cpu_bind);
	return emit_is_set(e, id);
}

static void add_lost(struct strbuf *lost, const struct emitter *e, enum profile_key_id id)
{
	const char *key = profile_key(id)->key.name, *between = lost->length ? ", " : "";
	const struct plan_setting *other = job_exception_of(e->plan, id);

	if (is_asked(e, id))
		strbuf_printf(lost, "%s" SETTING("%s = %s"), between, key,
			      SETTING_OF(&e->plan->settings, id)->text);
	else if (other) /* no option expresses it */
		strbuf_printf(lost, "%s%s = %s", between, key, other->text);
}

static bool is_lost(enum profile_key_id id, bool exec, const enum profile_key_id *kept,
		    size_t count)
{
	enum key_use use = profile_key(id)->use;

	for (size_t i = 0; i < count; i++)
		if (kept[i] == id)
			return false;
	return use & (exec ? EXEC_LOSES : EXEC_LOSES | OF_PROCESS);
}

void emit_loses(struct emitter *e, bool exec, const enum profile_key_id *kept, size_t count)
{
	CLEANUP(strbuf_free) struct strbuf lost = {0};

	for (enum profile_key_id i = SETTING_FIRST; i < SETTING_END; i++)
		if (is_lost(i, exec, kept, count))
			add_lost(&lost, e, i);
	if (e->plan->run_named && !e->run_passed)
		strbuf_printf(&lost, "%s--rdzv-id %s", lost.length ? ", " : "", e->plan->run);
	e->out.failed = e->out.failed || lost.failed;
	if (lost.text)
		emit_remark(e, FINDING_LAUNCHER_LOSES, "gpumap run supports every setting",
			    "left out, because the launcher has no option for it: %s", lost.text);
}

void emit_remark_names(struct emitter *e)
{
	if (e->node_count > 1 && !*e->plan->settings.hosts.text &&
	    !emit_is_set(e, PKEY_PROFILE_master_addr))
		emit_remark(e, FINDING_LAUNCHER_NEEDS,
			    "write " SETTING("hosts = NAME,...") " in place of --nnodes",
			    "the hosts are not named: the first is taken to be this one, %s, and "
			    "%s%s for the other%s",
			    e->nodes[0].host->name, e->nodes[1].host->name,
			    e->node_count > 2 ? ", ... stand" : " stands",
			    e->node_count > 2 ? "s" : "");
}
