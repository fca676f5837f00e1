/* SPDX-License-Identifier: MIT */
/* The only file that knows the order of the stages. */
#include "plan/build.h"

#include "memory.h"

/* --- classes of hosts ---------------------------------------------------------------- */

static int classify(struct builder *b, const struct plan_host_input *host, struct host_class **ret)
{
	struct table_key key = {{(uintptr_t)host->inventory, (uintptr_t)host->inherited,
				 host->inherited_count, (uintptr_t)host->cpus,
				 (uintptr_t)host->settings, (uintptr_t)host->free_gpus}};
	struct table_key one = {{(uintptr_t)host->inventory}};
	struct host_class *class = table_object(&b->classes, &b->scratch, key, sizeof(*class));
	size_t *hosts = table_object(&b->inventories, &b->scratch, one, sizeof(*hosts));

	if (!class || !hosts)
		return plan_nomem(b);
	if (!class->host) {
		class->host = host;
		class->settings = host->settings ? host->settings : b->input->settings;
	}
	++*hosts;
	class->host_count++;
	*ret = class;
	return GPUMAP_OK;
}

static int make_classes(struct builder *b)
{
	size_t count = b->input->host_count;
	int r = GPUMAP_OK;

	b->host_classes = arena_alloc(&b->scratch, count, sizeof(struct host_class *));
	b->local_sizes = arena_alloc(&b->scratch, count, sizeof(*b->local_sizes));
	if (!b->host_classes || !b->local_sizes)
		return plan_nomem(b);
	for (size_t i = 0; r == GPUMAP_OK && i < count; i++)
		r = classify(b, &b->input->hosts[i], &b->host_classes[i]);
	for (size_t i = 0; r == GPUMAP_OK && i < count; i++) {
		struct host_class *class = b->host_classes[i];

		if (class->host != &b->input->hosts[i])
			continue;
		r = selection_parse(b, class->settings, &class->selection);
		if (r == GPUMAP_OK)
			r = class_find_kind(b, class);
		if (r == GPUMAP_OK)
			r = selection_apply(b, class);
		arena_free(&b->temp);
	}
	return r;
}

/* --- layouts -------------------------------------------------------------------------- */

static int place_host(struct builder *b, struct plan_host *host, struct host_class *class,
		      size_t local_size, struct layout **ret)
{
	size_t phase = layout_phase(b, class, local_size, host->first_rank);
	struct table_key key = {{(uintptr_t) class, local_size, phase}};
	struct layout *layout = table_object(&b->layouts, &b->scratch, key, sizeof(*layout));

	if (!layout)
		return plan_nomem(b);
	if (!layout->class) {
		layout->class = class;
		layout->host = host;
		layout->phase = phase;
		layout->plan = arena_alloc(b->arena, 1, sizeof(*layout->plan));
		if (!layout->plan)
			return plan_nomem(b);
		layout->plan->count = local_size;
	}
	layout->host_count++;
	host->layout = layout->plan;
	*ret = layout;
	return GPUMAP_OK;
}

static int place_hosts(struct builder *b)
{
	gpumap_plan *plan = b->plan;
	size_t count = b->input->host_count, rank = 0;
	struct layout **layouts = arena_alloc(&b->scratch, count, sizeof(*layouts));
	int r = GPUMAP_OK;

	plan->hosts = arena_alloc(b->arena, count, sizeof(*plan->hosts));
	if (!plan->hosts || !layouts)
		return plan_nomem(b);
	plan->host_count = count;
	for (size_t i = 0; r == GPUMAP_OK && i < count; i++) {
		plan->hosts[i].name = arena_strdup(b->arena, b->input->hosts[i].name);
		plan->hosts[i].first_rank = rank;
		r = place_host(b, &plan->hosts[i], b->host_classes[i], b->local_sizes[i],
			       &layouts[i]);
		rank += b->local_sizes[i];
	}
	for (size_t i = 0; r == GPUMAP_OK && i < count; i++) {
		if (layouts[i]->host != &plan->hosts[i])
			continue;
		r = layout_fill(b, layouts[i]);
		if (r == GPUMAP_OK)
			r = layout_judge(b, layouts[i]);
		if (r == GPUMAP_OK)
			r = cores_bind(b, layouts[i]);
		arena_free(&b->temp);
	}
	return r;
}

static void add_steps(struct builder *b)
{
	const struct plan_settings *settings = b->input->settings;
	bool numbers = false, uuids = false;

	for (size_t i = 0; i < b->input->host_count; i++) {
		numbers = numbers || b->host_classes[i]->by_number;
		uuids = uuids || (b->host_classes[i]->count && !b->host_classes[i]->by_number);
	}
	if (b->plan->world_size)
		plan_step(b, "R4", NULL,
			  "rank = first rank of the host + local rank: %zu rank%s on %zu host%s",
			  b->plan->world_size, b->plan->world_size == 1 ? "" : "s",
			  b->plan->host_count, b->plan->host_count == 1 ? "" : "s");
	plan_step(b, "R3", settings->share.place.origin, "share = %s: each rank sees %s",
		  KEY_WORD(PKEY_PROFILE_share, settings->share.word),
		  settings->share.word == PLAN_SHARE_LIST      ? "all GPUs of its host's list"
		  : settings->share.word == PLAN_SHARE_ISOLATE ? "its own alone"
							       : "all, its own first");
	if (numbers || uuids)
		plan_step(b, "N5", settings->ids.place.origin, "lists hold %s",
			  !numbers ? "full UUIDs"
			  : !uuids ? "numbers, with CUDA_DEVICE_ORDER=PCI_BUS_ID"
				   : "full UUIDs, or numbers with CUDA_DEVICE_ORDER=PCI_BUS_ID");
}

/* --- the whole --------------------------------------------------------------------------- */

static int check_ranks(struct builder *b, const struct plan_settings *s)
{
	if (s->world_size.number == PLAN_AUTO || s->ranks.number == PLAN_AUTO)
		return GPUMAP_OK;
	return report_fail(
		b->report, GPUMAP_EINPUT, FINDING_EXCLUSIVE_KEYS,
		ABOUT(.origin = s->ranks.place.origin, .fix = "write one of them",
		      .speech = b->input->speech),
		SETTING("ranks = %s") " and " SETTING("world_size = %s") " exclude each other",
		s->ranks.text, s->world_size.text);
}

static int check_input(struct builder *b)
{
	const struct plan_input *input = b->input;
	int r = check_ranks(b, input->settings);

	if (r == GPUMAP_OK && !input->host_count)
		r = report_fail(b->report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
				ABOUT(.fix = "name a host, or leave " SETTING(
					      "hosts") " empty for this one",
				      .speech = input->speech),
				"there is no host to plan for");
	for (size_t i = 0; r == GPUMAP_OK && i < input->host_count; i++)
		if (input->hosts[i].settings &&
		    (!i || input->hosts[i].settings != input->hosts[i - 1].settings))
			r = check_ranks(b, input->hosts[i].settings);
	return r;
}

static int build(struct builder *b)
{
	int r = check_input(b);

	if (r == GPUMAP_OK)
		r = make_classes(b);
	if (r == GPUMAP_OK)
		r = spread_ranks(b);
	if (r == GPUMAP_OK)
		r = place_hosts(b);
	if (r != GPUMAP_OK)
		return r;
	add_steps(b);
	plan_report_rest(b);
	return b->arena->failed || b->scratch.failed || b->temp.failed ? plan_nomem(b) : GPUMAP_OK;
}

int plan_make(gpumap_plan **ret, const struct plan_input *input, gpumap_report *report)
{
	gpumap_plan *plan = xcalloc(1, sizeof(*plan));
	struct builder b = {.input = input, .report = report, .plan = plan};
	int r;

	if (!plan)
		return report_nomem(report);
	b.arena = &plan->arena;
	r = build(&b);
	plan->answered = !b.failed;
	arena_free(&b.scratch);
	arena_free(&b.temp);
	for (size_t i = 0; i < ARRAY_SIZE(b.descriptions); i++)
		strbuf_free(&b.descriptions[i]);
	return give_plan(ret, plan, r);
}
