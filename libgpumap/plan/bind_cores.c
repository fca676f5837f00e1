/* SPDX-License-Identifier: MIT */
/* Binds ranks to the cores and the memory near their GPUs, within the CPUs that this process may
 * use, and chooses their number of threads. */
#include "plan/cores.h"

enum nearness { NEAR_UNKNOWN, NEAR_SOME, NEAR_NONE /* none of them is allowed */ };

struct binding {
	struct builder *b;
	struct layout *layout;
	const struct plan_settings *settings;
	const struct cpu_topology *topology; /* NULL: not known */
	struct cpu_set allowed;
	bool known; /* whether `allowed` is known */
	struct division division;
	size_t *unit_of;
	enum nearness *nearness; /* by local rank */
	struct share *wishes;    /* by local rank */
	size_t unknown, far;
};

static int find_allowed(struct binding *x)
{
	const struct plan_cpus *cpus = x->layout->class->host->cpus;
	struct arena *scratch = &x->b->temp;

	if (!cpus)
		return GPUMAP_OK;
	x->topology = cpus->topology;
	if (cpus->allowed) {
		if (!cpu_set_parse(scratch, &x->allowed, span_of(cpus->allowed)))
			return report_fail(x->b->report, GPUMAP_EINPUT, FINDING_BAD_VALUE,
					   ABOUT(.fix = "write them as in 0-31,64-95"),
					   "the CPUs of %s cannot be '%s'", x->layout->host->name,
					   QUOTE(span_of(cpus->allowed)));
		x->known = x->allowed.count > 0;
	} else if (x->topology) {
		x->allowed = cpu_set_new(scratch, x->topology->count);
		for (size_t i = 0; i < x->topology->count && x->allowed.count; i++)
			if (x->topology->core[i] >= 0)
				cpu_set_add(x->allowed, i);
		x->known = cpu_set_size(x->allowed) > 0;
	}
	return scratch->failed ? plan_nomem(x->b) : GPUMAP_OK;
}

/* CPUs near one GPU, from its own list or that of its NUMA nodes. False: not known. */
static bool near_gpu(struct binding *x, const gpumap_device *gpu, struct cpu_set *ret)
{
	struct arena *scratch = &x->b->temp;
	struct cpu_set nodes;

	if (gpu->cpus && cpu_set_parse(scratch, ret, span_of(gpu->cpus)) && ret->count)
		return true;
	if (!x->topology || !gpu->numa || !cpu_set_parse(scratch, &nodes, span_of(gpu->numa)))
		return false;
	*ret = cpu_set_new(scratch, x->topology->count);
	for (size_t i = 0; i < x->topology->count && ret->count; i++)
		if (x->topology->core[i] >= 0 && x->topology->node[i] >= 0 &&
		    cpu_set_has(nodes, (size_t)x->topology->node[i]))
			cpu_set_add(*ret, i);
	return cpu_set_size(*ret) > 0;
}

/* The GPUs that a rank uses: the one where it lands, else its own. */
static size_t used_gpus(const struct binding *x, size_t l, size_t *count)
{
	const struct placement *placement = &x->layout->placements[l];

	*count = placement->own_count;
	if (placement->own_count != 1 || placement->lands == NOWHERE)
		return placement->own;
	return placement->lands;
}

static enum nearness near_rank(struct binding *x, size_t l, struct cpu_set *ret)
{
	struct arena *scratch = &x->b->temp;
	size_t count, first = used_gpus(x, l, &count);
	struct cpu_set all = {0}, one;

	if (!count) { /* no GPU: all cores are equally near */
		*ret = x->allowed;
		return x->known ? NEAR_SOME : NEAR_UNKNOWN;
	}
	for (size_t i = 0; i < count; i++) {
		if (!near_gpu(x, x->layout->class->devices[first + i]->gpu, &one))
			return NEAR_UNKNOWN;
		all = count == 1 ? one : cpu_set_or(scratch, all, one);
	}
	*ret = x->known ? cpu_set_and(scratch, all, x->allowed) : all;
	return cpu_set_size(*ret) ? NEAR_SOME : NEAR_NONE;
}

static size_t highest(size_t end, struct cpu_set set)
{
	return cpu_set_end(set) > end ? cpu_set_end(set) : end;
}

/* Numbers each core by its first CPU. */
static int number_cores(struct binding *x, size_t end)
{
	size_t *first, cores = 0, *unit_of;
	const struct cpu_topology *t = x->topology;

	for (size_t i = 0; t && i < t->count; i++)
		cores = t->core[i] >= 0 && (size_t)t->core[i] >= cores ? (size_t)t->core[i] + 1
								       : cores;
	unit_of = arena_alloc(&x->b->temp, end + 1, sizeof(*unit_of));
	first = arena_alloc(&x->b->temp, cores + 1, sizeof(*first)); /* plus one */
	if (!unit_of || !first)
		return plan_nomem(x->b);
	for (size_t i = 0; i < end; i++) {
		int core = t && i < t->count ? t->core[i] : -1;

		if (core >= 0 && !first[core])
			first[core] = i + 1;
		unit_of[i] = core >= 0 ? first[core] - 1 : i;
	}
	x->division.unit_of = unit_of;
	x->division.end = end;
	return GPUMAP_OK;
}

static int find_near(struct binding *x)
{
	size_t count = x->layout->plan->count, end = highest(0, x->allowed), same;
	struct cpu_set list;

	x->wishes = arena_alloc(&x->b->temp, count + 1, sizeof(*x->wishes));
	x->nearness = arena_alloc(&x->b->temp, count + 1, sizeof(*x->nearness));
	if (!x->wishes || !x->nearness)
		return plan_nomem(x->b);
	for (size_t l = 0; l < count; l++) {
		struct share *wish = &x->wishes[l];
		size_t one, before;

		wish->local_rank = l;
		/* Ranks with the same device, or without one, share the result. */
		same = x->layout->class->count ? l % x->layout->class->count : 0;
		if (same < l && used_gpus(x, same, &one) == used_gpus(x, l, &before) &&
		    one == before) {
			wish->near = x->wishes[same].near;
			x->nearness[l] = x->nearness[same];
		} else {
			x->nearness[l] = near_rank(x, l, &wish->near);
		}
		x->unknown += x->nearness[l] == NEAR_UNKNOWN;
		x->far += x->nearness[l] == NEAR_NONE;
		end = highest(end, wish->near);
	}
	if (x->settings->cpu_bind.word == PLAN_CPU_LIST &&
	    cpu_set_parse(&x->b->temp, &list, x->settings->cpu_bind.part))
		end = highest(end, list);
	return x->b->temp.failed ? plan_nomem(x->b) : number_cores(x, end);
}

/* All allowed cores, for a rank whose near cores are not known or not allowed. */
static void share_allowed(struct binding *x, struct share *share)
{
	share->cpus = x->allowed;
	share->cores = cpu_set_size(cores_of(&x->division, x->allowed));
	share->users = x->layout->plan->count;
}

static void report_cores(struct binding *x)
{
	const struct division *d = &x->division;
	const char *host = x->layout->host->name, *more = MORE_HOSTS(x->layout->host_count);
	const struct plan_place *at = &x->settings->cpu_bind.place;
	struct about about = {.origin = at->origin, .line = at->line, .column = at->column};

	/* Who has not asked for a binding misses none, and an assumed machine has no cores. */
	if (x->unknown && at->origin && x->layout->class->count &&
	    !x->layout->class->host->inventory->assumed)
		plan_report(
			x->b, FINDING_PLAN_UNKNOWN, &about,
			"which cores of %s are near its GPUs is not known for %zu of %zu ranks: "
			"%s%s",
			host, x->unknown, x->layout->plan->count,
			x->known ? "they share all" : "they are not bound", more);
	about.fix = "ask for cores near the GPUs, or write " SETTING("cpu_bind = none");
	if (x->far)
		plan_report(x->b, FINDING_CORES, &about,
			    "none of the cores near the GPU may be used by %zu of %zu ranks of %s: "
			    "they share all that may%s",
			    x->far, x->layout->plan->count, host, more);
	about.fix = "ask for more cores, or start fewer ranks";
	if (d->crowded)
		plan_report(x->b, FINDING_CORES, &about,
			    "%zu ranks of %s share cores, as there are fewer cores than ranks%s%s",
			    d->crowded, host, x->layout->class->count ? " near their GPUs" : "",
			    more);
	else if (d->max && d->count && d->fewest < d->max)
		plan_report(
			x->b, FINDING_CORES, &about,
			SETTING("cpu_bind = cores:%zu") ", but ranks of %s get %zu: there are no "
							"more%s",
			d->max, host, d->fewest, more);
}

static int bind_near(struct binding *x)
{
	struct division *d = &x->division;
	size_t count = x->layout->plan->count;

	d->max = x->settings->cpu_bind.word == PLAN_CPU_CORES ? (size_t)x->settings->cpu_bind.number
							      : 0;
	d->shares = arena_alloc(&x->b->temp, count + 1, sizeof(*d->shares));
	if (!d->shares)
		return plan_nomem(x->b);
	for (size_t l = 0; l < count; l++)
		if (x->nearness[l] == NEAR_SOME)
			d->shares[d->count++] = x->wishes[l];
	if (!divide_cores(d))
		return plan_nomem(x->b);
	for (size_t i = 0; i < d->count; i++)
		x->wishes[d->shares[i].local_rank] = d->shares[i];
	for (size_t l = 0; l < count; l++)
		if (x->nearness[l] != NEAR_SOME && x->known)
			share_allowed(x, &x->wishes[l]);
	report_cores(x);
	return GPUMAP_OK;
}

static void bind_list(struct binding *x)
{
	struct arena *scratch = &x->b->temp;
	const struct plan_place *at = &x->settings->cpu_bind.place;
	struct cpu_set list = {0}, inside;
	size_t cores;

	cpu_set_parse(scratch, &list, x->settings->cpu_bind.part);
	inside = x->known ? cpu_set_and(scratch, list, x->allowed) : list;
	if (x->known && !cpu_set_size(inside)) {
		plan_report(
			x->b, FINDING_CORES,
			ABOUT_PLACE(at, .fix = "name CPUs that this process may use"),
			SETTING("cpu_bind = list:%s") ": ranks may use none of these CPUs on %s, "
						      "so they use all allowed CPUs%s",
			QUOTE(x->settings->cpu_bind.part), x->layout->host->name,
			MORE_HOSTS(x->layout->host_count));
		inside = x->allowed;
	}
	cores = cpu_set_size(cores_of(&x->division, inside));
	for (size_t l = 0; l < x->layout->plan->count; l++) {
		x->wishes[l].cpus = inside;
		x->wishes[l].cores = cores;
		x->wishes[l].users = x->layout->plan->count;
	}
}

/* NUMA nodes of these CPUs, by the topology; NULL: of all. */
static struct cpu_set nodes_of(struct binding *x, const struct cpu_set *cpus)
{
	size_t end = 0;
	struct cpu_set nodes;

	for (size_t i = 0; i < x->topology->count; i++)
		if (x->topology->node[i] >= (int)end)
			end = (size_t)x->topology->node[i] + 1;
	nodes = cpu_set_new(&x->b->temp, end);
	for (size_t i = 0; i < x->topology->count && nodes.count; i++)
		if ((!cpus || cpu_set_has(*cpus, i)) && x->topology->node[i] >= 0)
			cpu_set_add(nodes, (size_t)x->topology->node[i]);
	return nodes;
}

/* The GPU's own nodes, without nodes that have no CPU (memory of the GPU itself). */
static struct cpu_set gpu_nodes(struct binding *x, size_t l)
{
	struct arena *scratch = &x->b->temp;
	size_t count, first = used_gpus(x, l, &count);
	struct cpu_set all = {0}, one;

	for (size_t i = 0; i < count; i++) {
		const char *numa = x->layout->class->devices[first + i]->gpu->numa;

		if (numa && cpu_set_parse(scratch, &one, span_of(numa)))
			all = cpu_set_or(scratch, all, one);
	}
	return x->topology ? cpu_set_and(scratch, all, nodes_of(x, NULL)) : all;
}

static void set_nodes(struct binding *x, size_t l, struct local_rank *local)
{
	bool bound = x->settings->cpu_bind.word != PLAN_CPU_NONE;
	struct cpu_set nodes = {0};

	if (x->settings->mem_bind.word == PLAN_MEM_NONE || x->nearness[l] == NEAR_UNKNOWN)
		return;
	if (bound && x->topology)
		nodes = nodes_of(x, &x->wishes[l].cpus);
	else if (x->nearness[l] == NEAR_SOME)
		nodes = gpu_nodes(x, l);
	if (cpu_set_size(nodes))
		local->nodes = cpu_set_print(x->b->arena, nodes);
}

static int threads(const struct binding *x, const struct share *share)
{
	size_t n = share->users ? share->cores / share->users : 0;

	if (x->settings->threads.word == PLAN_THREADS_KEEP)
		return 0;
	if (x->settings->threads.word != PLAN_THREADS_AUTO)
		return (int)x->settings->threads.number;
	return share->cores ? (n ? (int)n : 1) : 0;
}

int cores_bind(struct builder *b, struct layout *layout)
{
	struct binding x = {.b = b, .layout = layout, .settings = layout->class->settings};
	int r;

	x.division = (struct division){.arena = &b->temp};
	r = find_allowed(&x);
	if (r == GPUMAP_OK)
		r = find_near(&x);
	if (r != GPUMAP_OK)
		return r;
	if (x.settings->cpu_bind.word == PLAN_CPU_LIST)
		bind_list(&x);
	else if (x.settings->cpu_bind.word != PLAN_CPU_NONE)
		r = bind_near(&x);
	for (size_t l = 0; r == GPUMAP_OK && l < layout->plan->count; l++) {
		struct local_rank *local = &layout->plan->ranks[l];
		struct share *share = &x.wishes[l];

		if (x.settings->cpu_bind.word == PLAN_CPU_NONE && x.known)
			share_allowed(&x, share);
		local->threads = threads(&x, share);
		set_nodes(&x, l, local);
		if (x.settings->cpu_bind.word == PLAN_CPU_NONE || !cpu_set_size(share->cpus))
			continue;
		local->cpus = cpu_set_print(b->arena, share->cpus);
		local->cpus_shared = share->users > 1;
	}
	return r == GPUMAP_OK && (b->temp.failed || b->arena->failed) ? plan_nomem(b) : r;
}
