/* SPDX-License-Identifier: MIT */
/* A script for sh that starts and watches the ranks itself. */
#include "emit/shell.h"

#include <stdio.h>

#include "text/words.h"

/* --- variables ---------------------------------------------------------------------------- */

/* Variables that all ranks of a host have alike are written once. */
struct shared {
	struct emit_variables all; /* of the host's first rank */
	bool *same;
};

static bool is_same(const struct emit_variable *a, const struct emit_variable *b)
{
	if (!b || !a->value || !b->value)
		return b && a->value == b->value;
	return streq(a->value, b->value);
}

static bool find_shared(struct shared *ret, struct emitter *e, const struct emit_node *node)
{
	emit_variables(&ret->all, e, node, 0, true);
	ret->same = arena_alloc(&e->arena, ret->all.count + 1, sizeof(*ret->same));
	if (!ret->same)
		return false;
	for (size_t i = 0; i < ret->all.count; i++)
		ret->same[i] = true;
	for (size_t l = 1; l < node->ranks && e->r == GPUMAP_OK; l++) {
		struct emit_variables own;

		emit_variables(&own, e, node, l, true);
		for (size_t i = 0; i < ret->all.count; i++)
			ret->same[i] = ret->same[i] &&
				       is_same(&ret->all.all[i],
					       emit_variable(&own, i, ret->all.all[i].name));
	}
	return e->r == GPUMAP_OK;
}

/* Writes a function that adds the variables of all ranks to those of one. It uses the command env,
 * so that none of them is a variable of the script. */
static void put_shared(struct emitter *e, const struct shared *shared, const char *indent)
{
	emit_printf(e, "%sgm_rank() {\n%s\tgm_number=$1 gm_workdir=$2\n%s\tshift 2\n", indent,
		    indent, indent);
	emit_printf(e, "%s\tgm_begin \"$gm_number\" \"$gm_workdir\" env", indent);
	for (size_t i = 0; i < shared->all.count; i++)
		if (shared->same[i] && !shared->all.all[i].value)
			emit_pair(e, "-u", shared->all.all[i].name);
	for (size_t i = 0; i < shared->all.count; i++)
		if (shared->same[i] && shared->all.all[i].value)
			emit_assignment(e, shared->all.all[i].name, shared->all.all[i].value);
	emit_puts(e, " \"$@\"\n");
	emit_printf(e, "%s}\n", indent);
}

/* Variables to be unset are unset for all ranks. */
static void put_own(struct emitter *e, const struct shared *shared, const struct emit_node *node,
		    size_t l)
{
	struct emit_variables own;

	emit_variables(&own, e, node, l, true);
	for (size_t i = 0; i < own.count; i++) {
		const struct emit_variable *base = emit_variable(&shared->all, i, own.all[i].name);

		if (own.all[i].value && (!base || !shared->same[base - shared->all.all]))
			emit_assignment(e, own.all[i].name, own.all[i].value);
	}
}

/* --- ranks --------------------------------------------------------------------------------- */

static const char *expanded(struct emitter *e, const char *key, int64_t rank, const char *stream)
{
	CLEANUP_FREE char *text = NULL;
	const char *copy;

	if (e->r == GPUMAP_OK)
		e->r = gpumap_plan_expand_setting(&text, e->plan, key, rank, stream, e->report);
	copy = text ? arena_strdup(&e->arena, text) : NULL;
	return copy ? copy : "";
}

static void put_log(struct emitter *e, int64_t rank, const char *mark, const char *stream)
{
	const char *folder = expanded(e, "log_dir", rank, NULL);
	const char *name = expanded(e, "log_file", rank, stream);
	char *path = arena_printf(&e->arena, "%s/%s", folder, name);

	emit_printf(e, " %s", mark);
	words_quote(&e->out, path ? path : "");
}

static void put_arguments(struct emitter *e, int64_t rank)
{
	CLEANUP(job_free_arguments) char **arguments = NULL;

	if (e->r == GPUMAP_OK)
		e->r = gpumap_plan_rank_arguments(&arguments, e->plan, rank, e->report);
	/* The command env would take the word for a variable. */
	if (arguments && *arguments && strchr(*arguments, '='))
		emit_puts(e, " sh -c 'exec \"$@\"' sh");
	for (size_t i = 0; arguments && arguments[i]; i++)
		emit_word(e, arguments[i]);
}

static void put_rank(struct emitter *e, const struct shared *shared, const struct emit_node *node,
		     size_t l, const char *indent)
{
	const struct local_rank *local = &node->host->layout->ranks[l];
	int64_t rank = (int64_t)(node->host->first_rank + l);

	emit_printf(e, "%sgm_rank %lld", indent, (long long)rank);
	emit_word(e, expanded(e, "workdir", rank, NULL));
	put_own(e, shared, node, l);
	if (local->cpus)
		emit_pair(e, "taskset -c", local->cpus);
	put_arguments(e, rank);
	if (*expanded(e, "log_dir", rank, NULL)) {
		put_log(e, rank, ">", "stdout");
		put_log(e, rank, "2>", "stderr");
	}
	emit_end(e);
}

static void put_folders(struct emitter *e, const struct emit_node *node, const char *indent)
{
	const char *last = "";

	for (size_t l = 0; l < node->ranks; l++) {
		const char *folder =
			expanded(e, "log_dir", (int64_t)(node->host->first_rank + l), NULL);

		if (!*folder || streq(folder, last))
			continue;
		emit_printf(e, "%smkdir -p --", indent);
		emit_word(e, folder);
		emit_puts(e, " || exit 125\n");
		last = folder;
	}
}

static void put_node(struct emitter *e, const struct emit_node *node, const char *indent)
{
	struct shared shared;

	if (!find_shared(&shared, e, node))
		return;
	put_shared(e, &shared, indent);
	put_folders(e, node, indent);
	for (size_t l = 0; l < node->ranks && e->r == GPUMAP_OK; l++)
		put_rank(e, &shared, node, l, indent);
}

/* Every host runs the script with its number as the argument. */
static void put_nodes(struct emitter *e)
{
	if (e->node_count == 1) {
		put_node(e, &e->nodes[0], "");
		return;
	}
	emit_puts(e, "case ${1-} in\n");
	for (size_t i = 0; i < e->node_count; i++) {
		emit_printf(e, "%zu) # %s\n", i, e->nodes[i].host->name);
		put_node(e, &e->nodes[i], "\t");
		emit_puts(e, "\t;;\n");
	}
	emit_printf(e,
		    "*)\n\techo \"usage: $0 N, the number of this host, from 0 to %zu\" "
		    ">&2\n\texit 125\n\t;;\nesac\n",
		    e->node_count - 1);
}

static void put_remarks(struct emitter *e)
{
	const enum profile_key_id kept[] = {
		PKEY_PROFILE_cpu_bind,
		PKEY_PROFILE_kill_signal,
		PKEY_PROFILE_kill_grace,
		PKEY_PROFILE_forward,
		PKEY_PROFILE_timeout,
		PKEY_PROFILE_log_dir,
		PKEY_PROFILE_log_file,
		emit_on_fail(e) == PLAN_ON_FAIL_RESTART ? PKEY_COUNT : PKEY_PROFILE_on_fail,
	};

	/* Each rank's variables have the run's name. */
	e->run_passed = true;
	emit_loses(e, false, kept, ARRAY_SIZE(kept));
	if (!e->plan->master_port && gpumap_plan_int(e->plan, GPUMAP_PLAN_WORLD_SIZE) > 1)
		emit_port(e);
	emit_remark(e, FINDING_LAUNCHER_ORPHANS, "gpumap run leaves none",
		    "a script that is killed with SIGKILL leaves its ranks behind, on their GPUs");
}

void emit_shell(struct emitter *e)
{
	shell_begin(e);
	put_nodes(e);
	shell_end(e);
	put_remarks(e);
}
