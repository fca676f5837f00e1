/* SPDX-License-Identifier: MIT */
/* Divides overlapping sets of cores into equal parts. */
#include "plan/cores.h"

/* Shares that want the same set of cores. */
struct group {
	struct share *shares;
	size_t count;
	struct cpu_set units, picked;
	size_t unit_count;
	size_t parent; /* in the union of groups that overlap; a root is its own parent */
};

struct cpu_set cores_of(const struct division *d, struct cpu_set cpus)
{
	struct cpu_set units = cpu_set_new(d->arena, d->end);

	for (size_t i = 0; i < cpu_set_end(cpus) && units.count; i++)
		if (cpu_set_has(cpus, i))
			cpu_set_add(units, d->unit_of[i]);
	return units;
}

static int by_set(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	int order = cpu_set_compare(x->near, y->near);

	return order ? order : (x->local_rank > y->local_rank) - (x->local_rank < y->local_rank);
}

static size_t root(struct group *groups, size_t g)
{
	while (groups[g].parent != g) {
		groups[g].parent = groups[groups[g].parent].parent;
		g = groups[g].parent;
	}
	return g;
}

static struct group *make_groups(struct division *d, size_t *ret)
{
	struct group *groups = arena_alloc(d->arena, d->count + 1, sizeof(*groups));
	size_t *owner = arena_alloc(d->arena, d->end + 1, sizeof(*owner)); /* of a core, plus one */
	size_t n = 0;

	if (!groups || !owner)
		return NULL;
	qsort(d->shares, d->count, sizeof(*d->shares), by_set);
	for (size_t i = 0; i < d->count; i++) {
		struct group *g = n ? &groups[n - 1] : NULL;

		if (g && cpu_set_compare(g->shares->near, d->shares[i].near) == 0) {
			g->count++;
			continue;
		}
		groups[n] = (struct group){.shares = &d->shares[i], .count = 1, .parent = n};
		groups[n].units = cores_of(d, d->shares[i].near);
		groups[n].unit_count = cpu_set_size(groups[n].units);
		n++;
	}
	for (size_t g = 0; g < n; g++) {
		for (size_t u = 0; u < cpu_set_end(groups[g].units); u++) {
			if (!cpu_set_has(groups[g].units, u))
				continue;
			if (owner[u])
				groups[root(groups, g)].parent = root(groups, owner[u] - 1);
			owner[u] = g + 1;
		}
	}
	*ret = n;
	return groups;
}

/* Moves up to `need` units of `from` that are not in `avoid` into *pick and *taken. */
static size_t pick_units(struct cpu_set from, struct cpu_set avoid, struct cpu_set taken,
			 struct cpu_set pick, size_t need)
{
	size_t n = 0;

	for (size_t u = 0; u < cpu_set_end(from) && n < need; u++) {
		if (!cpu_set_has(from, u) || cpu_set_has(taken, u) || cpu_set_has(avoid, u))
			continue;
		cpu_set_add(taken, u);
		cpu_set_add(pick, u);
		n++;
	}
	return n;
}

/* Picks `each` units for every share of these groups: for the smallest set first, and first those
 * units that no later group wants. False: there are not enough. */
static bool pick_all(struct division *d, struct group **groups, size_t count, size_t each)
{
	struct cpu_set taken = cpu_set_new(d->arena, d->end);
	struct cpu_set *later = arena_alloc(d->arena, count + 1, sizeof(*later));

	if (!taken.count || !later)
		return false;
	for (size_t i = count; i > 0; i--)
		later[i - 1] = cpu_set_or(d->arena, later[i], groups[i - 1]->units);
	for (size_t i = 0; i < count; i++) {
		struct group *g = groups[i];
		size_t need = each * g->count;

		g->picked = cpu_set_new(d->arena, d->end);
		if (d->arena->failed)
			return false;
		need -= pick_units(g->units, later[i + 1], taken, g->picked, need);
		need -= pick_units(g->units, (struct cpu_set){0}, taken, g->picked, need);
		if (need)
			return false;
	}
	return true;
}

/* The greatest number of units that every share can have; 0: there are fewer units than shares. */
static size_t best_share(struct division *d, struct group **groups, size_t count)
{
	size_t low = 0, high = d->max ? d->max : SIZE_MAX;

	for (size_t i = 0; i < count; i++) {
		size_t max = groups[i]->unit_count / groups[i]->count;

		high = max < high ? max : high;
	}
	while (low < high) {
		size_t middle = high - (high - low) / 2;

		if (pick_all(d, groups, count, middle))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Gives the picked units to the shares, one after the other, with all CPUs of each. */
static void deal(struct division *d, struct group *g, size_t each)
{
	size_t *turn = arena_alloc(d->arena, d->end + 1, sizeof(*turn)), n = 0;

	for (size_t i = 0; i < g->count; i++) {
		g->shares[i].cpus = cpu_set_new(d->arena, d->end);
		g->shares[i].cores = each;
		g->shares[i].users = 1;
	}
	if (d->arena->failed)
		return;
	for (size_t u = 0; u < d->end; u++)
		if (cpu_set_has(g->picked, u))
			turn[u] = n++ / each;
	for (size_t c = 0; c < cpu_set_end(g->shares->near); c++)
		if (cpu_set_has(g->shares->near, c) && cpu_set_has(g->picked, d->unit_of[c]))
			cpu_set_add(g->shares[turn[d->unit_of[c]]].cpus, c);
}

static void share_units(struct division *d, struct group *g, size_t users)
{
	for (size_t i = 0; i < g->count; i++) {
		g->shares[i].cpus = g->shares[i].near;
		g->shares[i].cores = g->unit_count;
		g->shares[i].users = users;
	}
	d->crowded += g->count;
}

static int by_size(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

	if (x->unit_count != y->unit_count)
		return x->unit_count < y->unit_count ? -1 : 1;
	return (x > y) - (x < y);
}

/* Groups that overlap, directly or through others. */
static void divide_component(struct division *d, struct group **groups, size_t count)
{
	size_t each, users = 0;

	qsort(groups, count, sizeof(struct group *), by_size);
	each = best_share(d, groups, count);
	if (each && !pick_all(d, groups, count, each))
		return; /* memory ran out */
	for (size_t i = 0; i < count; i++)
		users += groups[i]->count;
	for (size_t i = 0; i < count; i++) {
		if (each)
			deal(d, groups[i], each);
		else
			share_units(d, groups[i], users);
	}
	d->fewest = each < d->fewest ? each : d->fewest;
}

struct member {
	size_t root;
	struct group *group;
};

static int by_root(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

bool divide_cores(struct division *d)
{
	size_t count = 0;
	struct group *groups = make_groups(d, &count), **part;
	struct member *members = arena_alloc(d->arena, d->count + 1, sizeof(*members));

	part = arena_alloc(d->arena, d->count + 1, sizeof(struct group *));
	d->fewest = SIZE_MAX;
	if (d->arena->failed || !groups || !members || !part)
		return false;
	for (size_t g = 0; g < count; g++)
		members[g] = (struct member){root(groups, g), &groups[g]};
	qsort(members, count, sizeof(*members), by_root);
	for (size_t i = 0, n; i < count; i += n) {
		for (n = 0; i + n < count && members[i + n].root == members[i].root; n++)
			part[n] = members[i + n].group;
		divide_component(d, part, n);
	}
	return !d->arena->failed;
}
