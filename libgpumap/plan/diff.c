/* SPDX-License-Identifier: MIT */
/* See diff.h. */
#include "plan/diff.h"

#include "hash.h"
#include "text/words.h"

/* --- the list ----------------------------------------------------------------------- */

/* "" and NULL differ. */
static uintptr_t hash(const char *text)
{
	return text ? (uintptr_t)hash_text(HASH_START, text) : 0;
}

static struct difference *add(struct plan_diff *diff, enum difference_of of, const char *key,
			      const char *from, const char *to)
{
	struct difference *d = arena_alloc(&diff->arena, 1, sizeof(*d)), **grown;

	grown = arena_room(&diff->arena, diff->list, diff->count, &diff->room, sizeof(*grown));
	if (!d || !grown)
		return NULL;
	*d = (struct difference){
		.of = of,
		.key = arena_strdup(&diff->arena, key),
		.from = arena_strdup(&diff->arena, from),
		.to = arena_strdup(&diff->arena, to),
	};
	diff->list = grown;
	return diff->list[diff->count++] = d;
}

static void note(struct plan_diff *diff, enum difference_of of, const char *key, const char *from,
		 const char *to)
{
	if (!text_same(from, to))
		add(diff, of, key, from, to);
}

static void add_number(struct plan_diff *diff, struct difference *d, size_t number)
{
	struct number_range *grown;

	if (d->range_count && d->ranges[d->range_count - 1].last + 1 == number) {
		d->ranges[d->range_count - 1].last = number;
		return;
	}
	grown = arena_room(&diff->arena, d->ranges, d->range_count, &d->range_room, sizeof(*grown));
	if (!grown)
		return;
	d->ranges = grown;
	d->ranges[d->range_count++] = (struct number_range){number, number};
}

/* A difference of a node or a rank; `key` must stay valid. */
static void note_at(struct plan_diff *diff, enum difference_of of, const char *key, size_t number,
		    const char *from, const char *to)
{
	struct table_key name = {{of, (uintptr_t)key, hash(from), hash(to), 0}};
	struct difference *d;
	void **place;

	if (text_same(from, to))
		return;
	place = table_place(&diff->table, &diff->arena, name);
	d = place ? *place : NULL;
	/* Texts with equal hashes are compared, for the first text only. */
	if (!d || !text_same(d->from, from) || !text_same(d->to, to))
		d = add(diff, of, key, from, to);
	if (place && !*place)
		*place = d;
	if (d)
		add_number(diff, d, number);
}

/* --- the whole plan -------------------------------------------------------------------- */

static const char *number_text(struct quoted *ret, int64_t n, int64_t none)
{
	return n == none ? NULL : format_text(ret, "%lld", (long long)n);
}
#define NUMBER_TEXT(n, none) number_text(&(struct quoted){{0}}, n, none)

static void note_number(struct plan_diff *diff, const char *key, int64_t from, int64_t to,
			int64_t none)
{
	note(diff, DIFFERENCE_PLAN, key, NUMBER_TEXT(from, none), NUMBER_TEXT(to, none));
}

static void compare_plans(struct plan_diff *diff)
{
	const gpumap_plan *a = diff->a, *b = diff->b;

	note(diff, DIFFERENCE_PLAN, "answered", a->answered ? "yes" : "no",
	     b->answered ? "yes" : "no");
	note(diff, DIFFERENCE_PLAN, "profile", a->profile, b->profile);
	note_number(diff, "world_size", (int64_t)a->world_size, (int64_t)b->world_size, -1);
	note_number(diff, "hosts", (int64_t)a->host_count, (int64_t)b->host_count, -1);
	note(diff, DIFFERENCE_PLAN, "master_addr", a->master_addr, b->master_addr);
	note_number(diff, "master_port", a->master_port, b->master_port, 0);
	note(diff, DIFFERENCE_PLAN, "run", a->run, b->run);
}

static void compare_settings(struct plan_diff *diff)
{
	const gpumap_plan *a = diff->a, *b = diff->b;

	EACH_PLAN_KEY (k)
		note(diff, DIFFERENCE_SETTING, profile_key(k)->key.name,
		     SETTING_OF(&a->settings, k)->text, SETTING_OF(&b->settings, k)->text);
}

static const struct job_variable *variable(const gpumap_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->variable_count; i++)
		if (streq(plan->variables[i].name, name))
			return &plan->variables[i];
	return NULL;
}

static void compare_variable(struct plan_diff *diff, const char *name)
{
	static const struct job_variable none = {NULL, NULL, NULL};
	const struct job_variable *from = variable(diff->a, name), *to = variable(diff->b, name);

	from = from ? from : &none;
	to = to ? to : &none;
	note(diff, DIFFERENCE_ENVIRONMENT, name, from->value, to->value);
	note(diff, DIFFERENCE_UNSET, name, from->name && !from->value ? "yes" : NULL,
	     to->name && !to->value ? "yes" : NULL);
}

static void compare_variables(struct plan_diff *diff)
{
	for (size_t i = 0; i < diff->a->variable_count; i++)
		compare_variable(diff, diff->a->variables[i].name);
	for (size_t i = 0; i < diff->b->variable_count; i++)
		if (!variable(diff->a, diff->b->variables[i].name))
			compare_variable(diff, diff->b->variables[i].name);
}

static char *command_text(const gpumap_plan *plan)
{
	struct strbuf buf = {0};

	for (size_t i = 0; i < plan->argument_count; i++) {
		strbuf_puts(&buf, i ? " " : "");
		words_quote(&buf, plan->arguments[i]);
	}
	return strbuf_take(&buf);
}

static void compare_arguments(struct plan_diff *diff)
{
	CLEANUP_FREE char *from = command_text(diff->a), *to = command_text(diff->b);

	if (from && to)
		note(diff, DIFFERENCE_ARGUMENTS, "arguments", *from ? from : NULL, *to ? to : NULL);
	else
		diff->arena.failed = true;
}

/* --- nodes and ranks --------------------------------------------------------------------- */

static const char *gpu_text(struct quoted *ret, const struct plan_device *d)
{
	return format_text(ret, "GPU %d%s%.48s%s%.48s%s%.32s", d->physical, d->name ? ", " : "",
			   d->name ? d->name : "", d->uuid ? ", " : "", d->uuid ? d->uuid : "",
			   d->pci ? ", " : "", d->pci ? d->pci : "");
}

/* Compares the number of GPUs, or finds the first that differs. */
static void compare_machines(struct plan_diff *diff, size_t node, const struct plan_layout *a,
			     const struct plan_layout *b)
{
	struct quoted from, to;

	note_at(diff, DIFFERENCE_NODE, "gpus", node, FORMAT("%zu", a->gpu_count),
		FORMAT("%zu", b->gpu_count));
	for (size_t i = 0; i < a->gpu_count && a->gpu_count == b->gpu_count; i++)
		if (!streq(gpu_text(&from, &a->gpus[i]), gpu_text(&to, &b->gpus[i]))) {
			note_at(diff, DIFFERENCE_NODE, "gpu", node, from.text, to.text);
			return;
		}
}

static void compare_nodes(struct plan_diff *diff)
{
	const gpumap_plan *a = diff->a, *b = diff->b;

	for (size_t i = 0; i < a->host_count || i < b->host_count; i++) {
		const struct plan_host *from = i < a->host_count ? &a->hosts[i] : NULL;
		const struct plan_host *to = i < b->host_count ? &b->hosts[i] : NULL;

		note_at(diff, DIFFERENCE_NODE, "name", i, from ? from->name : NULL,
			to ? to->name : NULL);
		if (!from || !to)
			continue;
		note_at(diff, DIFFERENCE_NODE, "local_size", i,
			NUMBER_TEXT((int64_t)from->layout->count, -1),
			NUMBER_TEXT((int64_t)to->layout->count, -1));
		note_at(diff, DIFFERENCE_NODE, "device_order", i, from->layout->device_order,
			to->layout->device_order);
		compare_machines(diff, i, from->layout, to->layout);
	}
}

/* Attributes by their names in a plan's JSON. */
static const struct {
	const char *key;
	bool is_text;
	enum gpumap_rank_str_attr text;
	enum gpumap_rank_int_attr number;
	int64_t none; /* the value that means none */
} attributes[] = {
	{"node", .number = GPUMAP_RANK_NODE, .none = -1},
	{"local_rank", .number = GPUMAP_RANK_LOCAL_RANK, .none = -1},
	{"physical", .number = GPUMAP_RANK_PHYSICAL, .none = -1},
	{"mig", .number = GPUMAP_RANK_MIG, .none = -1},
	{"uuid", .is_text = true, .text = GPUMAP_RANK_UUID},
	{"logical", .number = GPUMAP_RANK_LOGICAL, .none = -1},
	{"visible", .is_text = true, .text = GPUMAP_RANK_VISIBLE},
	{"cpus", .is_text = true, .text = GPUMAP_RANK_CPUS},
	{"memory_nodes", .is_text = true, .text = GPUMAP_RANK_MEMORY_NODES},
	{"threads", .number = GPUMAP_RANK_THREADS, .none = 0},
};

/* The value as text; a number is written into `room`. */
static const char *attribute(struct quoted *room, const gpumap_plan *plan, size_t rank, size_t i)
{
	if (attributes[i].is_text)
		return gpumap_plan_rank_str(plan, (int64_t)rank, attributes[i].text);
	return number_text(room, gpumap_plan_rank_int(plan, (int64_t)rank, attributes[i].number),
			   attributes[i].none);
}

static void compare_rank(struct plan_diff *diff, size_t rank)
{
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		struct quoted one, other;

		note_at(diff, DIFFERENCE_RANK, attributes[i].key, rank,
			attribute(&one, diff->a, rank, i), attribute(&other, diff->b, rank, i));
	}
}

/* Compares the settings that single ranks have instead of the common ones. */
static void compare_exceptions(struct plan_diff *diff, enum profile_key_id key, size_t ranks)
{
	const struct plan_setting *a = SETTING_OF(&diff->a->settings, key);
	const struct plan_setting *b = SETTING_OF(&diff->b->settings, key);

	if (!job_exception_of(diff->a, key) && !job_exception_of(diff->b, key))
		return;
	for (size_t r = 0; r < ranks; r++) {
		const struct plan_setting *from = job_setting(diff->a, key, (int64_t)r);
		const struct plan_setting *to = job_setting(diff->b, key, (int64_t)r);

		if (from != a || to != b)
			note_at(diff, DIFFERENCE_RANK, profile_key(key)->key.name, r, from->text,
				to->text);
	}
}

static void compare_ranks(struct plan_diff *diff)
{
	size_t a = diff->a->world_size, b = diff->b->world_size;
	size_t both = a < b ? a : b;

	for (size_t r = 0; r < both; r++)
		compare_rank(diff, r);
	EACH_PLAN_KEY (k)
		compare_exceptions(diff, k, both);
	for (size_t r = both; r < a || r < b; r++)
		note_at(diff, DIFFERENCE_RANK, "exists", r, r < a ? "yes" : NULL,
			r < b ? "yes" : NULL);
}

bool plan_diff_make(struct plan_diff *ret, const gpumap_plan *a, const gpumap_plan *b)
{
	*ret = (struct plan_diff){.a = a, .b = b};
	compare_plans(ret);
	compare_settings(ret);
	compare_variables(ret);
	compare_arguments(ret);
	compare_nodes(ret);
	compare_ranks(ret);
	return !ret->arena.failed;
}

void plan_diff_free(struct plan_diff *diff)
{
	arena_free(&diff->arena);
}
