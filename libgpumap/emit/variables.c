/* SPDX-License-Identifier: MIT */
/* Variables of ranks, for launchers that set some of them by themselves. */
#include "emit/emit.h"

#include <stdio.h>

#include "request/rank_identity.h"

/* Variables that every launcher of the torch family sets for a rank. */
static bool is_rank_variable(const char *name)
{
	const char *one;

	for (size_t i = 0; (one = rank_identity_variable(i)); i++)
		if (streq(one, name))
			return true;
	return starts_with(name, "TORCHELASTIC_") || starts_with(name, "MASTER_") ||
	       streq(name, "ROLE_NAME");
}

static int keep(const char *name, const char *value, void *data)
{
	struct emit_variables *v = data;
	struct emit_variable *grown;

	/* gpumap exec sets the variables of the rank. */
	if ((!v->ranks && is_rank_variable(name)) || starts_with(name, "GPUMAP_RUN_"))
		return GPUMAP_OK;
	if (!v->ranks && streq(name, "CUDA_VISIBLE_DEVICES"))
		value = v->list;
	grown = arena_room(&v->e->arena, v->all, v->count, &v->room, sizeof(*grown));
	if (!grown)
		return GPUMAP_ENOMEM;
	v->all = grown;
	grown[v->count] = (struct emit_variable){arena_strdup(&v->e->arena, name),
						 arena_strdup(&v->e->arena, value)};
	if (v->e->arena.failed)
		return GPUMAP_ENOMEM;
	v->count++;
	return GPUMAP_OK;
}

/* An environment in which every rank variable is set, so that those that the rank does not get are
 * unset. */
static const char *const *foreign(struct emitter *e)
{
	size_t count = 0;
	const char **envp;

	while (rank_identity_variable(count))
		count++;
	envp = arena_alloc(&e->arena, count + 1, sizeof(*envp));
	for (size_t i = 0; envp && i < count; i++)
		envp[i] = arena_printf(&e->arena, "%s=", rank_identity_variable(i));
	return e->arena.failed ? NULL : envp;
}

const struct emit_variable *emit_variable(const struct emit_variables *v, size_t at,
					  const char *name)
{
	if (at < v->count && streq(v->all[at].name, name))
		return &v->all[at];
	for (size_t i = 0; i < v->count; i++)
		if (streq(v->all[i].name, name))
			return &v->all[i];
	return NULL;
}

/* If gpumap run would find a free port at the start, a port must be named now. */
static int name_port(struct emit_variables *v)
{
	char port[16];

	if (!emit_variable(v, 0, "MASTER_ADDR") || emit_variable(v, 0, "MASTER_PORT"))
		return GPUMAP_OK;
	snprintf(port, sizeof(port), "%d", COMMON_PORT);
	return keep("MASTER_PORT", port, v);
}

void emit_variables(struct emit_variables *ret, struct emitter *e, const struct emit_node *node,
		    size_t local_rank, bool ranks)
{
	int64_t rank = (int64_t)(node->host->first_rank + local_rank);
	const char *const *envp = ranks ? foreign(e) : NULL;
	int r;

	*ret = (struct emit_variables){.e = e, .ranks = ranks, .list = node->list};
	if (!ranks && e->inside)
		return;
	r = ranks && !envp ? GPUMAP_ENOMEM
			   : gpumap_plan_variable_each(e->plan, rank, envp, keep, ret);
	if (r == GPUMAP_OK && ranks)
		r = name_port(ret);
	if (e->r == GPUMAP_OK)
		e->r = r;
}

void emit_without(struct emit_variables *variables, const char *names)
{
	size_t kept = 0;

	for (size_t i = 0; i < variables->count; i++)
		if (!span_is_any(span_of(variables->all[i].name), names))
			variables->all[kept++] = variables->all[i];
	variables->count = kept;
}

void emit_prefix(struct emitter *e, const struct emit_variables *variables)
{
	bool unset = false;

	for (size_t i = 0; i < variables->count; i++) {
		if (variables->all[i].value)
			continue;
		if (!unset)
			emit_word(e, "env");
		unset = true;
		emit_pair(e, "-u", variables->all[i].name);
	}
	for (size_t i = 0; i < variables->count; i++)
		if (variables->all[i].value)
			emit_assignment(e, variables->all[i].name, variables->all[i].value);
}

void emit_rank(struct emitter *e, size_t node)
{
	struct emit_variables v;

	emit_variables(&v, e, &e->nodes[node], 0, true);
	for (size_t i = 0; i < v.count; i++)
		if (v.all[i].value &&
		    span_is_any(span_of(v.all[i].name), "RANK WORLD_SIZE LOCAL_RANK "
							"LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT"))
			emit_assignment(e, v.all[i].name, v.all[i].value);
}

static void emit_folder(struct emitter *e)
{
	const char *workdir = e->plan->settings.workdir.text;

	if (streq(workdir, "."))
		return;
	emit_word(e, "cd");
	emit_word(e, "--");
	emit_word(e, workdir);
	emit_puts(e, " &&");
}

void emit_start(struct emitter *e, size_t node, enum emit_gpus gpus)
{
	struct emit_variables variables;

	if (!e->inside)
		emit_folder(e);
	emit_variables(&variables, e, &e->nodes[node], 0, false);
	if (gpus == EMIT_NUMBERS)
		emit_without(&variables, "CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER");
	emit_prefix(e, &variables);
	if (gpus == EMIT_NUMBERS && e->nodes[node].gpus) /* CUDA must count as nvidia-smi does */
		emit_assignment(e, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
}

void emit_label(struct emitter *e, size_t node)
{
	if (e->node_count == 1)
		return;
	emit_printf(e, "%s# node %zu: %s\n", node ? "\n" : "", node, e->nodes[node].host->name);
}

int emit_port(struct emitter *e)
{
	if (e->plan->master_port)
		return e->plan->master_port;
	emit_remark(
		e, FINDING_LAUNCHER_PORT,
		"write " SETTING("master_port = N") "; gpumap run finds a free one and holds it",
		"the ranks meet at port %d, which another job of that host may have", COMMON_PORT);
	return COMMON_PORT;
}
