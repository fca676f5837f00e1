/* SPDX-License-Identifier: MIT */
/* srun: all GPUs of the step for every task, gpumap exec inside. */
#include "emit/slurm.h"

#include "strbuf.h"
#include "text/words.h"

/* --- groups of hosts --------------------------------------------------------------------- */

/* Whether names ascend, as Slurm numbers the nodes of a job. */
static bool is_ascending(const struct emitter *e)
{
	for (size_t i = 1; i < e->node_count; i++)
		if (strverscmp(e->nodes[i - 1].host->name, e->nodes[i].host->name) >= 0)
			return false;
	return true;
}

static bool has_equal_gpus(const struct emitter *e)
{
	for (size_t i = 1; i < e->node_count; i++)
		if (e->nodes[i].gpus != e->nodes[0].gpus)
			return false;
	return true;
}

struct slurm_shape slurm_shape(struct emitter *e)
{
	struct slurm_shape shape = {0};
	size_t end;

	shape.groups = arena_alloc(&e->arena, e->node_count, sizeof(*shape.groups));
	if (!shape.groups)
		return shape;
	if (has_equal_gpus(e)) {
		shape.arbitrary = !e->equal || (emit_named(e) && !is_ascending(e));
		shape.groups[shape.count++] = (struct slurm_group){0, e->node_count};
		return shape;
	}
	for (size_t i = 0; i < e->node_count; i = end) {
		for (end = i + 1; end < e->node_count && e->nodes[end].gpus == e->nodes[i].gpus &&
				  e->nodes[end].ranks == e->nodes[i].ranks;)
			end++;
		shape.groups[shape.count++] = (struct slurm_group){i, end - i};
	}
	return shape;
}

/* --- options ----------------------------------------------------------------------------- */

/* The least number of CPUs that a rank of these hosts is bound to; 0: ranks are not bound, or share
 * CPUs. */
static size_t bound_cpus(struct emitter *e, const struct slurm_group *group)
{
	size_t least = 0;

	for (size_t i = group->first; i < group->first + group->count; i++) {
		const struct plan_layout *layout = e->nodes[i].host->layout;

		if (i > group->first && layout == e->nodes[i - 1].host->layout)
			continue;
		for (size_t l = 0; l < layout->count; l++) {
			struct cpu_set set = {0};
			size_t size;

			if (!layout->ranks[l].cpus || layout->ranks[l].cpus_shared ||
			    !cpu_set_parse(&e->arena, &set, span_of(layout->ranks[l].cpus)))
				return 0;
			size = cpu_set_size(set);
			least = !least || size < least ? size : least;
		}
	}
	return least;
}

/* The greater of `threads = N` and `cpu_bind = cores:N`; 0: neither has a number. */
static size_t asked_cpus(const struct emitter *e)
{
	int64_t threads = e->plan->settings.threads.number;
	int64_t cores = e->plan->settings.cpu_bind.number;
	int64_t more = threads > cores ? threads : cores;

	return more > 0 ? (size_t)more : 0;
}

/* This machine may bind fewer CPUs than the job's nodes could: they may have more cores. */
size_t slurm_cpus(struct emitter *e, const struct slurm_group *group)
{
	size_t bound = bound_cpus(e, group), asked = asked_cpus(e);

	return asked > bound ? asked : bound;
}

static void put_placement(struct emitter *e, const struct slurm_shape *shape,
			  const struct slurm_group *group)
{
	const struct emit_node *node = &e->nodes[group->first];
	size_t cpus = slurm_cpus(e, group);

	emit_wordf(e, "--nodes=%zu", group->count);
	if (shape->arbitrary) {
		emit_wordf(e, "--ntasks=%zu", e->ranks);
		emit_word(e, "--distribution=arbitrary");
	} else {
		emit_wordf(e, "--ntasks-per-node=%zu", node->ranks);
	}
	if (emit_named(e))
		emit_wordf(e, "--nodelist=%s",
			   emit_names(e, group->first, group->count, shape->arbitrary));
	if (node->gpus)
		emit_wordf(e, "--gpus-per-node=%zu", node->gpus);
	if (cpus)
		emit_wordf(e, "--cpus-per-task=%zu", cpus);
}

/* --- files ------------------------------------------------------------------------------- */

/* Slurm's name for a macro; NULL: it has none. */
static const char *slurm_macro(char letter)
{
	switch (letter) {
	case 'r':
		return "t";
	case 'n':
		return "n";
	case 'h':
		return "N";
	case 'j':
		return "j";
	case '%':
		return "%";
	default:
		return NULL;
	}
}

/* Appends a path with Slurm's macros: "rank-%05r" is "rank-%5t". */
static bool put_path(struct strbuf *buf, const char *path, const char *stream)
{
	for (; *path; path++) {
		const char *digits = path + 1, *macro;

		if (*path != '%') {
			/* srun takes the character after a backslash literally. */
			strbuf_puts(buf, *path == '\\' ? "\\" : "");
			strbuf_add(buf, path, 1);
			continue;
		}
		while (*digits == '0')
			digits++;
		for (path = digits; is_digit(*path);)
			path++;
		if (*path == 's') {
			strbuf_puts(buf, stream);
			continue;
		}
		macro = slurm_macro(*path);
		if (!macro || path - digits > 1)
			return false;
		strbuf_printf(buf, "%%%.*s%s", (int)(path - digits), digits, macro);
	}
	return true;
}

static bool put_log(struct emitter *e, const char *option, const char *stream)
{
	CLEANUP(strbuf_free) struct strbuf buf = {0};
	bool good;

	strbuf_printf(&buf, "--%s=", option);
	good = put_path(&buf, e->plan->settings.log_dir.text, stream);
	strbuf_puts(&buf, "/");
	good = good && put_path(&buf, e->plan->settings.log_file.text, stream);
	e->out.failed = e->out.failed || buf.failed;
	if (good)
		emit_word(e, buf.text ? buf.text : "");
	return good;
}

static void put_logs(struct emitter *e)
{
	if (!*e->plan->settings.log_dir.text)
		return;
	if (!put_log(e, "output", "stdout") || !put_log(e, "error", "stderr"))
		emit_remark(e, FINDING_LAUNCHER_LOSES, "name log files by %r, %n, %h or %j",
			    "srun has no name for " SETTING("log_file = %s"),
			    e->plan->settings.log_file.text);
}

/* --- the command --------------------------------------------------------------------------- */

const char *slurm_limit(struct emitter *e)
{
	long long s = emit_seconds(e, PKEY_PROFILE_timeout);

	return s ? arena_printf(&e->arena, "%lld-%02lld:%02lld:%02lld", s / 86400, s / 3600 % 24,
				s / 60 % 60, s % 60)
		 : NULL;
}

static void put_component(struct emitter *e, const struct slurm_shape *shape, size_t i, bool script)
{
	bool kill = emit_on_fail(e) == PLAN_ON_FAIL_KILL;
	const char *limit = slurm_limit(e);

	if (i)
		emit_word(e, ":");
	if (script && shape->count > 1)
		emit_wordf(e, "--het-group=%zu", i);
	put_placement(e, shape, &shape->groups[i]);
	emit_wordf(e, "--kill-on-bad-exit=%d", kill ? 1 : 0);
	emit_word(e, "--cpu-bind=none");
	emit_word(e, "--export=ALL");
	if (!e->inside && !script && !streq(e->plan->settings.workdir.text, "."))
		emit_wordf(e, "--chdir=%s", e->plan->settings.workdir.text);
	if (!script && limit)
		emit_wordf(e, "--time=%s", limit);
	put_logs(e);
	emit_exec(e, EMIT_MEET);
}

void slurm_put_srun(struct emitter *e, const struct slurm_shape *shape, bool script)
{
	emit_word(e, "srun");
	for (size_t i = 0; i < shape->count; i++)
		put_component(e, shape, i, script);
	emit_end(e);
}

void slurm_variables(struct emit_variables *variables, struct emitter *e)
{
	emit_variables(variables, e, &e->nodes[0], 0, false);
	/* Slurm sets the list, gpumap exec the rest. */
	emit_without(variables, "CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER OMP_NUM_THREADS");
}

/* Slurm has no option that names GPUs. */
static void report_choice(struct emitter *e)
{
	const char *gpus = e->plan->settings.gpus.text, *origin = e->plan->settings.gpus.origin;
	bool of_file = origin && *origin != '-';
	CLEANUP(strbuf_free) struct strbuf word = {0}, fix = {0};

	words_quote(&word, gpus);
	strbuf_printf(&fix,
		      "leave it out if any GPUs will do; for these write --exclusive, which takes "
		      "whole nodes, in place of --gpus-per-node, and gpumap exec --gpus=%s",
		      word.text ? word.text : "");
	if (word.failed || fix.failed)
		e->out.failed = true;
	else
		emit_remark(e, FINDING_LAUNCHER_DEVICES, fix.text,
			    "Slurm chooses the GPUs, not " SETTING("gpus = %s") "%s%s", gpus,
			    of_file ? " of " : "", of_file ? QUOTE(span_of(origin)) : "");
}

void slurm_remarks(struct emitter *e)
{
	const enum profile_key_id kept[] = {
		PKEY_PROFILE_forward,
		PKEY_PROFILE_timeout,
		PKEY_PROFILE_log_dir,
		PKEY_PROFILE_log_file,
		emit_on_fail(e) == PLAN_ON_FAIL_RESTART ? PKEY_COUNT : PKEY_PROFILE_on_fail,
	};

	emit_loses(e, true, kept, ARRAY_SIZE(kept));
	if (e->plan->settings.gpus.word == PLAN_GPUS_GPU)
		report_choice(e);
	if (e->inside)
		emit_remark(e, FINDING_LAUNCHER_DEVICES,
			    "write --exclusive, which takes whole nodes, in place of "
			    "--gpus-per-node",
			    "the plan names GPUs, and Slurm has to grant exactly these GPUs");
	if (!has_equal_gpus(e) && *e->plan->settings.log_dir.text)
		emit_remark(e, FINDING_LAUNCHER_RANKS, "name them by %h",
			    "if hosts have different numbers of GPUs, Slurm numbers log files "
			    "differently from ranks");
	emit_remark(e, FINDING_LAUNCHER_NEEDS, "install gpumap on every node",
		    "the command starts the ranks with gpumap exec: it sets RANK, which Slurm does "
		    "not, and lets every rank see all GPUs, as CUDA IPC between ranks needs");
	emit_remark(e, FINDING_LAUNCHER_STATUS, "gpumap run returns the failing rank's",
		    "after a failure srun returns 143 (it ended the others), not the failed rank's "
		    "status");
}

void emit_srun(struct emitter *e)
{
	struct slurm_shape shape = slurm_shape(e);
	struct emit_variables variables;

	emit_plan_file(e);
	slurm_variables(&variables, e);
	emit_prefix(e, &variables);
	slurm_put_srun(e, &shape, false);
	slurm_remarks(e);
}
