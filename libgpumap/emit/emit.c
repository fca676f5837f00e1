/* SPDX-License-Identifier: MIT */
/* The table of launchers, and the code that they share. */
#include "emit/emit.h"

#include <stdio.h>

#include "explain/explain.h"
#include "explain/json.h"
#include "memory.h"
#include "suggest.h"

struct gpumap_target {
	const char *name, *summary;
	emit_target *put;
	const char *shell; /* of a script; NULL: a command */
	bool scheduled;
};

static const gpumap_target targets[] = {
#define TARGET(name, summary, shell, scheduled) {#name, summary, emit_##name, shell, scheduled},
#include "emit/targets.def"
#undef TARGET
};

EXPORT const gpumap_target *gpumap_target_get(size_t i)
{
	return i < ARRAY_SIZE(targets) ? &targets[i] : NULL;
}

EXPORT const char *gpumap_target_str(const gpumap_target *target, enum gpumap_target_str_attr attr)
{
	if (!target)
		return NULL;
	return TEXT_AT(attr, [GPUMAP_TARGET_NAME] = target->name,
		       [GPUMAP_TARGET_SUMMARY] = target->summary);
}

bool emit_is_scheduled(const char *target)
{
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		if (streq(target, targets[i].name))
			return targets[i].scheduled;
	return false;
}

/* What to write instead of a word that is not a launcher here, though many would try it; NULL: not
 * known. */
static const char *other_word(const char *word)
{
	static const struct {
		const char *words, *fix;
	} known[] = {
		{"slurm batch", "write sbatch for a script, or srun for a command"},
		{"mpi mpiexec openmpi ompi orterun prun", "write mpirun"},
		{"sh bash zsh script local", "write shell"},
		{"torch pytorch elastic", "write torchrun"},
		{"hf huggingface", "write accelerate"},
		{"flux jsrun lsf pals aprun mpich hydra mvapich2",
		 "write gpumap exec before the program in that launcher's own command"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (span_among(span_of(word), known[i].words))
			return known[i].fix;
	return strpbrk(word, "./") ? "the launcher comes first, as in gpumap emit torchrun train.py"
				   : NULL;
}

/* GPUMAP_EKEY, GPUMAP_ENOMEM. */
static int find(const gpumap_target **ret, const char *target, gpumap_report *report)
{
	const char *names[ARRAY_SIZE(targets) + 1] = {0}, *fix = other_word(target);
	struct quoted near;
	const size_t last = ARRAY_SIZE(targets) - 1;
	CLEANUP(strbuf_free) struct strbuf known = {0};

	for (size_t i = 0; i <= last; i++) {
		names[i] = targets[i].name;
		if (streq(target, names[i])) {
			*ret = &targets[i];
			return GPUMAP_OK;
		}
	}
	strbuf_printf(&known, "known are %s", names[0]);
	for (size_t i = 1; i <= last; i++)
		strbuf_printf(&known, "%s%s", i < last ? ", " : " and ", names[i]);
	fix = fix ? fix : did_you_mean(&near, suggest(span_of(target), names), known.text);
	return known.failed
		       ? report_nomem(report)
		       : report_fail(report, GPUMAP_EKEY, FINDING_NO_LAUNCHER, ABOUT(.fix = fix),
				     "no such launcher: '%s'", QUOTE(span_of(target)));
}

int emit_check_target(const char *target, gpumap_report *report)
{
	const gpumap_target *found;

	return find(&found, target, report);
}

static bool can_start(struct emitter *e)
{
	if (!e->plan->answered || !e->plan->world_size) {
		emit_remark(e, FINDING_LAUNCHER_CANNOT, "gpumap plan shows why",
			    "the plan cannot be started");
		return false;
	}
	if (e->plan->lease)
		emit_remark(e, FINDING_LEASE_NOT_HERE,
			    "start it by gpumap pick N -- COMMAND, with a plan for the GPUs that "
			    "it inherits",
			    "the plan is for GPUs that gpumap run leases: %s", e->plan->lease);
	if (!e->plan->argument_count)
		emit_remark(e, FINDING_NO_PROGRAM, "write -- PROGRAM ARGUMENT... after the options",
			    "there is no program to start");
	return !e->refused;
}

/* --- the text ------------------------------------------------------------------------------ */

static void put_comments(struct strbuf *buf, const gpumap_report *report)
{
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);

		strbuf_printf(buf, "# %s [%s]\n", gpumap_finding_str(f, GPUMAP_FINDING_TEXT),
			      gpumap_finding_str(f, GPUMAP_FINDING_ID));
	}
}

/* A script has a comment about what it loses. */
static char *whole_text(struct emitter *e, const char *shell)
{
	struct strbuf buf = {0};

	if (shell) {
		strbuf_printf(&buf, "#!%s\n# %zu rank%s on %zu host%s\n", shell, e->ranks,
			      e->ranks == 1 ? "" : "s", e->node_count,
			      e->node_count == 1 ? "" : "s");
		put_comments(&buf, e->report);
	}
	strbuf_puts(&buf, e->out.text ? e->out.text : "");
	buf.failed = buf.failed || e->out.failed;
	return strbuf_take(&buf);
}

static void clean(struct emitter *e)
{
	for (size_t i = 0; i < e->file_count; i++)
		free(e->files[i].text);
	strbuf_free(&e->out);
	arena_free(&e->arena);
	gpumap_report_free(e->report);
}

/* Fills all of `e`; *text is NULL if the plan cannot be started. */
static int make(struct emitter *e, char **text, const gpumap_target *target)
{
	int r = gpumap_report_new(&e->report);

	if (r != GPUMAP_OK)
		return r;
	e->target = target->name;
	e->scheduled = target->scheduled;
	if (!can_start(e))
		return GPUMAP_OK;
	r = emit_nodes(e);
	if (r == GPUMAP_OK) {
		if (emit_asks_gpus(e))
			target->put(e);
		if (!e->refused && !target->scheduled)
			emit_remark_names(e);
		r = e->arena.failed || e->out.failed ? GPUMAP_ENOMEM : e->r;
	}
	if (r == GPUMAP_OK && !e->refused) {
		*text = whole_text(e, target->shell);
		r = *text && !e->arena.failed ? GPUMAP_OK : GPUMAP_ENOMEM;
	}
	return r;
}

static int emit(struct emitter *e, char **text, const char *target, gpumap_report *report)
{
	const gpumap_target *found = NULL;
	int r = find(&found, target, report);

	if (r != GPUMAP_OK)
		return r;
	r = make(e, text, found);
	if (r != GPUMAP_ENOMEM)
		report_copy_all(report, e->report, FINDING_COUNT);
	if (r != GPUMAP_OK) {
		free(*text);
		*text = NULL;
	}
	return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
}

/* --- JSON ---------------------------------------------------------------------------------- */

static char *json_of(const struct emitter *e, const char *text, const char *target,
		     const gpumap_report *report)
{
	struct strbuf buf = {0};
	json_t *files = JSON_LIST(i, e->refused ? 0 : e->file_count,
				  JSON_OBJECT({"name", json_text(e->files[i].name)},
					      {"text", json_text(e->files[i].text)}));
	json_t *o = JSON_DOCUMENT("emit", {"target", json_text(target)}, {"text", json_text(text)},
				  {"files", files}, {"findings", json_findings(report)});

	json_dump(&buf, o);
	return strbuf_take(&buf);
}

EXPORT int gpumap_plan_emit(char **ret, int *emitted, const gpumap_plan *plan, const char *target,
			    enum gpumap_format format, unsigned flags, gpumap_report *report)
{
	struct emitter e = {.plan = plan};
	char *text = NULL, *whole;
	int r;

	if ((format != GPUMAP_FORMAT_TEXT && format != GPUMAP_FORMAT_JSON) ||
	    !format_flags_known(flags))
		return GPUMAP_EINPUT;
	r = plan ? emit(&e, &text, target, report) : GPUMAP_OK;
	if (r == GPUMAP_OK) {
		whole = format == GPUMAP_FORMAT_JSON ? json_of(&e, text, target, report)
						     : xstrdup(text ? text : "");
		if (whole) {
			*ret = whole;
			*emitted = text != NULL;
		} else {
			r = report_nomem(report);
		}
	}
	free(text);
	clean(&e);
	return r;
}
