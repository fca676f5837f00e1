/* SPDX-License-Identifier: MIT */
/* The plan by host. */
#include "emit/emit.h"

#include <signal.h>
#include <stdio.h>

#include "request/profile_keys.h"

enum plan_on_fail emit_on_fail(const struct emitter *e)
{
	return (enum plan_on_fail)e->plan->settings.on_fail.word;
}

bool emit_forwards(const struct emitter *e, int signal)
{
	return signal_set_has(e->plan->settings.forward.number, signal);
}

bool emit_forwards_only_users(const struct emitter *e)
{
	for (int signal = 1; signal < NSIG; signal++)
		if (emit_forwards(e, signal) != (signal == SIGUSR1 || signal == SIGUSR2))
			return false;
	return true;
}

bool emit_is_set(const struct emitter *e, enum profile_key_id id)
{
	const struct plan_setting *setting = SETTING_OF(&e->plan->settings, id);

	return *setting->text && setting->origin;
}

size_t emit_count(const char *list)
{
	size_t count = *list ? 1 : 0;

	for (; *list; list++)
		count += *list == ',';
	return count;
}

long long emit_seconds(const struct emitter *e, enum profile_key_id id)
{
	return (long long)((SETTING_OF(&e->plan->settings, id)->number + 999) / 1000);
}

static bool has_entry(struct span list, struct span entry)
{
	struct span one;

	while (span_split(&list, ',', &one))
		if (span_same(one, entry))
			return true;
	return false;
}

/* Joins the lists of a host's ranks: each entry once, in the order in which they appear. */
static void join_lists(struct strbuf *buf, size_t *gpus, const struct plan_layout *layout)
{
	const char *last = "";

	for (size_t l = 0; l < layout->count; l++) {
		struct span rest = span_of(layout->ranks[l].visible), entry;

		if (streq(layout->ranks[l].visible, last))
			continue;
		last = layout->ranks[l].visible;
		while (span_split(&rest, ',', &entry)) {
			struct span all = {buf->text, buf->length};

			if (!entry.length || (buf->length && has_entry(all, entry)))
				continue;
			strbuf_puts(buf, buf->length ? "," : "");
			strbuf_add(buf, entry.text, entry.length);
			++*gpus;
		}
	}
}

/* Whether an earlier local rank, or an earlier device of this one, has the same device. */
static bool is_counted(const struct plan_layout *layout, size_t rank, size_t device)
{
	const struct plan_device *wanted = &layout->ranks[rank].devices[device];

	for (size_t l = 0; l <= rank; l++)
		for (size_t i = 0; i < (l < rank ? layout->ranks[l].device_count : device); i++) {
			const struct plan_device *d = &layout->ranks[l].devices[i];

			if (d->physical == wanted->physical && d->mig == wanted->mig)
				return true;
		}
	return false;
}

/* A scheduler's job gets other GPUs than those of the plan: as many as its ranks use, unless the
 * settings name GPUs. `listed` is how many the ranks see. */
static size_t job_gpus(const struct emitter *e, const struct plan_layout *layout, size_t listed)
{
	size_t used = 0;

	if (!e->scheduled || emit_is_set(e, PKEY_PROFILE_gpus) || e->inside)
		return listed;
	/* A rank alone may use all that it sees. */
	if (layout->count == 1 && layout->ranks[0].logical < 0)
		return listed;
	for (size_t l = 0; l < layout->count; l++) {
		const struct local_rank *local = &layout->ranks[l];

		/* By the end of the list, it has to be that long. */
		if (local->logical >= 0 && (size_t)local->logical >= layout->count)
			return listed;
		for (size_t i = 0; i < local->device_count; i++)
			used += !is_counted(layout, l, i);
	}
	return used && used < listed ? used : listed;
}

/* Most hosts are like the one before, which is reused. */
static bool node_lists(struct emitter *e, struct emit_node *node)
{
	const struct emit_node *before = node > e->nodes ? node - 1 : NULL;
	struct strbuf list = {0};

	if (before && before->host->layout == node->host->layout) {
		node->list = before->list;
		node->gpus = before->gpus;
		return true;
	}
	join_lists(&list, &node->gpus, node->host->layout);
	node->gpus = job_gpus(e, node->host->layout, node->gpus);
	node->list = strbuf_keep(&list, &e->arena);
	return node->list;
}

/* Whether the text has a macro, whose value differs between ranks. */
static bool has_macro(const char *text)
{
	while ((text = strchr(text, '%'))) {
		if (text[1] != '%')
			return true;
		text += 2;
	}
	return false;
}

static bool differs_by_rank(const gpumap_plan *plan)
{
	for (size_t i = 0; i < plan->argument_count; i++)
		if (has_macro(plan->arguments[i]))
			return true;
	for (size_t i = 0; i < plan->variable_count; i++)
		if (plan->variables[i].value && has_macro(plan->variables[i].value))
			return true;
	return plan->exception_count || has_macro(plan->settings.workdir.text);
}

int emit_nodes(struct emitter *e)
{
	const gpumap_plan *plan = e->plan;

	e->nodes = arena_alloc(&e->arena, plan->host_count, sizeof(*e->nodes));
	e->equal = true;
	e->inside = differs_by_rank(e->plan);
	for (size_t i = 0; e->nodes && i < plan->host_count; i++) {
		struct emit_node *node = &e->nodes[e->node_count];

		if (!plan->hosts[i].layout->count)
			continue;
		*node = (struct emit_node){&plan->hosts[i], NULL, plan->hosts[i].layout->count, 0};
		if (!node_lists(e, node))
			break;
		e->node_count++;
		e->ranks += node->ranks;
		e->equal = e->equal && node->ranks == e->nodes[0].ranks &&
			   node->gpus == e->nodes[0].gpus;
	}
	if (!e->nodes || e->arena.failed || e->ranks != plan->world_size)
		return GPUMAP_ENOMEM;
	return GPUMAP_OK;
}

/* Appends the device's number unless it is there; false: it has none. */
static bool add_number(struct strbuf *numbers, const struct plan_device *device)
{
	struct span all = {numbers->text, numbers->length};
	char number[24];

	if (device->physical < 0 || device->mig >= 0)
		return false;
	snprintf(number, sizeof(number), "%d", device->physical);
	if (!numbers->length || !has_entry(all, span_of(number)))
		strbuf_printf(numbers, "%s%s", numbers->length ? "," : "", number);
	return true;
}

const char *emit_numbers(struct emitter *e, const struct emit_node *node)
{
	const struct plan_layout *layout = node->host->layout;
	struct strbuf numbers = {0};
	const char *text;
	bool known = true;

	for (size_t l = 0; known && l < layout->count; l++)
		for (size_t i = 0; known && i < layout->ranks[l].device_count; i++)
			known = add_number(&numbers, &layout->ranks[l].devices[i]);
	text = strbuf_keep(&numbers, &e->arena);
	if (!known)
		return NULL;
	return text ? text : "";
}

const struct emit_node *emit_unlike(const struct emitter *e)
{
	for (size_t i = 1; i < e->node_count; i++)
		if (e->nodes[i].ranks != e->nodes[0].ranks)
			return &e->nodes[i];
	return NULL;
}

bool emit_lists_differ(const struct emitter *e)
{
	for (size_t i = 1; i < e->node_count; i++)
		if (!streq(e->nodes[i].list, e->nodes[0].list))
			return true;
	return false;
}

bool emit_named(const struct emitter *e)
{
	return *e->plan->settings.hosts.text && e->plan->settings.hosts.word != PLAN_HOSTS_SLURM;
}

const char *emit_names(struct emitter *e, size_t first, size_t count, bool each_rank)
{
	struct strbuf names = {0};
	const char *text;

	for (size_t i = first; i < first + count; i++)
		for (size_t l = 0; l < (each_rank ? e->nodes[i].ranks : 1); l++)
			strbuf_printf(&names, "%s%s", names.length ? "," : "",
				      e->nodes[i].host->name);
	text = strbuf_keep(&names, &e->arena);
	return text ? text : "";
}
