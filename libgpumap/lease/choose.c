/* SPDX-License-Identifier: MIT */
/* Which GPUs a job gets, and which are promised to those before it. A wish yields to one's own if
 * that job's lease ends before the wish can be served; its promise then does not count. */
#include "inventory/inventory.h"
#include "lease/lease.h"
#include "memory.h"

/* What a wish is promised. */
struct promise {
	size_t count; /* of GPUs */
	bool enough;
};

/* What the wishes before one's own are promised. */
struct promises {
	struct promise *of;       /* each wish */
	struct lease_load *loads; /* with what is promised */
	struct lease_load *bound; /* the same, but for what is promised to those that yield */
	size_t *first; /* of each GPU: the first wish that leaves one's own no room there */
};

/* What a choice needs. */
struct choice {
	const struct lease_wish *wishes; /* one's own is the last */
	size_t earlier;                  /* how many come before it */
	const gpumap_inventory *inventory;
	size_t gpus;
	const struct lease_load *now;
	struct promises real, trial;
	size_t *given, *spare, *candidates; /* lists of GPUs */
};

static void choice_free(struct choice *c)
{
	free(c->real.loads);
	free(c->real.of);
	free(c->given);
}

/* False without memory. */
static bool choice_begin(struct choice *c)
{
	struct lease_load *loads = xcalloc(c->gpus + 1, 4 * sizeof(*loads));
	struct promise *of = xcalloc(c->earlier + 1, 2 * sizeof(*of));
	size_t *lists = xcalloc(c->gpus + 1, 5 * sizeof(*lists));

	c->real = (struct promises){of, loads, loads + c->gpus, lists + 3 * c->gpus};
	c->trial = (struct promises){of + c->earlier, loads + 2 * c->gpus, loads + 3 * c->gpus,
				     lists + 4 * c->gpus};
	c->given = lists;
	c->spare = lists + c->gpus;
	c->candidates = lists + 2 * c->gpus;
	return loads && of && lists;
}

/* How many jobs more could share the GPU, if this one does; 0: it cannot have the GPU. A whole GPU
 * is a slot of one. */
static size_t room_of(const struct lease_wish *wish, const struct lease_load *loads, size_t g)
{
	return wish->usable[g] && wish->free_gpus[g] ? load_room(&loads[g], wish->slots) : 0;
}

/* The GPUs that a job could take now, in the order of preference: those that it prefers, then those
 * with the most room, which is the same for whole ones. */
static size_t available(size_t *ret, size_t *preferred, const struct lease_wish *wish,
			const struct lease_load *loads, size_t gpus)
{
	size_t n = 0;

	for (size_t i = 0; i < wish->preferred; i++)
		if (room_of(wish, loads, wish->order[i]))
			ret[n++] = wish->order[i];
	*preferred = n;
	for (size_t room = wish->slots; room; room--)
		for (size_t i = wish->preferred; i < gpus; i++)
			if (room_of(wish, loads, wish->order[i]) == room)
				ret[n++] = wish->order[i];
	return n;
}

/* Promises the `n` GPUs to wish w; to a firm one also those that it could use at another time. */
static void give(const struct choice *c, const struct promises *to, size_t w, const size_t *given,
		 size_t n)
{
	const struct lease_wish *wish = &c->wishes[w], *own = &c->wishes[c->earlier];
	const bool enough = n >= wish->count, closes = !enough && wish->firm,
		   binds = enough || !backfill_fits(own, wish);

	to->of[w] = (struct promise){n, enough};
	for (size_t i = 0; i < n; i++) {
		load_add(&to->loads[given[i]], wish->slots);
		if (binds)
			load_add(&to->bound[given[i]], wish->slots);
	}
	for (size_t g = 0; g < c->gpus; g++) {
		if (closes && wish->usable[g])
			to->loads[g].most = to->bound[g].most = 0;
		if (to->first[g] == c->earlier && !room_of(own, to->loads, g))
			to->first[g] = w;
	}
}

/* Promises GPUs to each wish before one's own, as if that one's job had the `count` in `taken`.
 */
static void promise_all(const struct choice *c, const struct promises *to, const size_t *taken,
			size_t count, size_t *given)
{
	memcpy(to->loads, c->now, c->gpus * sizeof(*to->loads));
	for (size_t i = 0; i < count; i++)
		load_add(&to->loads[taken[i]], c->wishes[c->earlier].slots);
	memcpy(to->bound, to->loads, c->gpus * sizeof(*to->bound));
	for (size_t g = 0; g < c->gpus; g++)
		to->first[g] = c->earlier;
	for (size_t w = 0; w < c->earlier; w++) {
		const struct lease_wish *wish = &c->wishes[w];
		size_t preferred, n = available(given, &preferred, wish, to->loads, c->gpus);

		if (n >= wish->count && wish->near)
			lease_near(given, wish->count, n, preferred, c->inventory);
		give(c, to, w, given, n >= wish->count ? wish->count : n);
	}
}

/* A slot that is taken changes which GPU has the most room, and so what those who wait choose. */
static bool can_move_promises(const struct choice *c)
{
	bool slots = false;

	for (size_t w = 0; w < c->earlier; w++)
		slots = slots || c->wishes[w].slots > 1;
	return slots && c->wishes[c->earlier].slots > 1;
}

/* Whether all wishes before one's own get as much after it takes these GPUs. */
static bool keeps_promises(const struct choice *c, const size_t *gpus, size_t count)
{
	promise_all(c, &c->trial, gpus, count, c->spare);
	for (size_t w = 0; w < c->earlier; w++)
		if (c->real.of[w].enough > c->trial.of[w].enough ||
		    c->real.of[w].count > c->trial.of[w].count)
			return false;
	return true;
}

/* Reduces the first `n` GPUs in c->given to one's own; as many as possible are of the first
 * `liked`. False: it has to wait. */
static bool keep_best(struct choice *c, size_t n, size_t liked)
{
	const struct lease_wish *own = &c->wishes[c->earlier];

	if (n < own->count)
		return false;
	if (own->near)
		lease_near(c->given, own->count, n, liked, c->inventory);
	return true;
}

/* Puts one's own GPUs into c->given. False: it has to wait. */
static bool choose_own(struct choice *c)
{
	const struct lease_wish *own = &c->wishes[c->earlier];
	const bool careful = can_move_promises(c);
	size_t preferred, n = 0, liked = 0,
			  count = available(c->candidates, &preferred, own, c->real.loads, c->gpus);

	for (size_t i = 0; i < count; i++) {
		if (careful && !keeps_promises(c, &c->candidates[i], 1))
			continue;
		liked += i < preferred;
		c->given[n++] = c->candidates[i];
	}
	return keep_best(c, n, liked) && (!careful || keeps_promises(c, c->given, own->count));
}

/* The same with GPUs that are promised to wishes that yield, as few as possible. */
static bool backfill(struct choice *c)
{
	const struct lease_wish *own = &c->wishes[c->earlier];
	size_t preferred, n, unpromised,
		count = available(c->candidates, &preferred, own, c->real.bound, c->gpus);

	n = unpromised = available(c->given, &preferred, own, c->real.loads, c->gpus);
	for (size_t i = 0; i < count; i++)
		if (!room_of(own, c->real.loads, c->candidates[i]))
			c->given[n++] = c->candidates[i];
	return n > unpromised && keep_best(c, n, unpromised);
}

static bool uses_any(const struct lease_wish *wish, const size_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (wish->usable[list[i]])
			return true;
	return false;
}

bool lease_choose(struct lease_chosen *ret, const struct lease_wish *wishes, size_t count,
		  const struct lease_load *loads, const gpumap_inventory *inventory, bool *nomem)
{
	struct choice c = {.wishes = wishes,
			   .earlier = count - 1,
			   .inventory = inventory,
			   .gpus = inventory->count,
			   .now = loads};
	const struct lease_wish *own = &wishes[count - 1];
	bool enough = false;

	*nomem = !choice_begin(&c);
	if (!*nomem) {
		promise_all(&c, &c.real, NULL, 0, c.given);
		enough = choose_own(&c) || backfill(&c);
		memcpy(ret->promised, c.real.first, c.gpus * sizeof(*ret->promised));
	}
	for (size_t w = 0; !*nomem && w < c.earlier; w++)
		ret->passed[w] =
			enough && !c.real.of[w].enough && uses_any(&wishes[w], c.given, own->count);
	if (enough)
		memcpy(ret->gpus, c.given, own->count * sizeof(*ret->gpus));
	choice_free(&c);
	return enough;
}

void lease_choose_any(size_t *ret, const struct lease_wish *wish, size_t gpus)
{
	size_t n = 0;

	for (int busy = 0; busy < 2; busy++)
		for (size_t g = 0; g < gpus && n < wish->count; g++)
			if (wish->usable[g] && wish->free_gpus[g] == !busy)
				ret[n++] = g;
}

static int by_position(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void lease_sort_chosen(size_t *gpus, size_t count)
{
	qsort(gpus, count, sizeof(*gpus), by_position);
}
