/* SPDX-License-Identifier: MIT */
/* Which GPUs a job gets, and which are promised to those before it. */
#include "inventory/inventory.h"
#include "lease/lease.h"

/* What a wish is promised. */
struct promise {
	size_t count; /* of GPUs */
	bool enough;
};

/* What a choice needs. */
struct choice {
	const struct lease_wish *wishes; /* one's own is the last */
	size_t earlier;                  /* how many come before it */
	const gpumap_inventory *inventory;
	size_t gpus;
	const struct lease_load *now;
	struct lease_load *loads, *trial; /* with what is promised */
	struct promise *promises, *tried;
	size_t *given, *spare, *candidates; /* lists of GPUs */
};

static void choice_free(struct choice *c)
{
	free(c->loads);
	free(c->promises);
	free(c->given);
}

/* False without memory. */
static bool choice_begin(struct choice *c)
{
	c->loads = calloc(c->gpus + 1, 2 * sizeof(*c->loads));
	c->promises = calloc(c->earlier + 1, 2 * sizeof(*c->promises));
	c->given = calloc(c->gpus + 1, 3 * sizeof(*c->given));
	if (!c->loads || !c->promises || !c->given)
		return false;
	c->trial = c->loads + c->gpus;
	c->tried = c->promises + c->earlier;
	c->spare = c->given + c->gpus;
	c->candidates = c->spare + c->gpus;
	return true;
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

/* Promises GPUs to each wish before one's own, and adds them to `loads`. False without memory. */
static bool promise_all(const struct choice *c, struct lease_load *loads, struct promise *promises,
			size_t *given)
{
	for (size_t w = 0; w < c->earlier; w++) {
		const struct lease_wish *wish = &c->wishes[w];
		size_t preferred, n = available(given, &preferred, wish, loads, c->gpus);
		bool enough = n >= wish->count;

		if (enough && wish->near &&
		    !lease_near(given, wish->count, n, preferred, c->inventory))
			return false;
		n = enough ? wish->count : n;
		for (size_t i = 0; i < n; i++)
			load_add(&loads[given[i]], wish->slots);
		for (size_t g = 0; !enough && wish->firm && g < c->gpus; g++)
			loads[g].most = wish->usable[g] ? 0 : loads[g].most;
		promises[w] = (struct promise){n, enough};
	}
	return true;
}

/* A slot that is taken changes which GPU has the most room, and so what those who wait choose. */
static bool can_move_promises(const struct choice *c)
{
	bool slots = false;

	for (size_t w = 0; w < c->earlier; w++)
		slots = slots || c->wishes[w].slots > 1;
	return slots && c->wishes[c->earlier].slots > 1;
}

/* Whether all wishes before one's own get as much after it takes these GPUs. False also without
 * memory, then *nomem. */
static bool keeps_promises(const struct choice *c, const size_t *gpus, size_t count, bool *nomem)
{
	memcpy(c->trial, c->now, c->gpus * sizeof(*c->trial));
	for (size_t i = 0; i < count; i++)
		load_add(&c->trial[gpus[i]], c->wishes[c->earlier].slots);
	*nomem = !promise_all(c, c->trial, c->tried, c->spare);
	for (size_t w = 0; !*nomem && w < c->earlier; w++)
		if (c->promises[w].enough > c->tried[w].enough ||
		    c->promises[w].count > c->tried[w].count)
			return false;
	return !*nomem;
}

/* Puts one's own GPUs into c->given. False: it has to wait, or *nomem. */
static bool choose_own(struct choice *c, bool *nomem)
{
	const struct lease_wish *own = &c->wishes[c->earlier];
	const bool careful = can_move_promises(c);
	size_t preferred, n = 0, liked = 0,
			  count = available(c->candidates, &preferred, own, c->loads, c->gpus);

	for (size_t i = 0; i < count; i++) {
		if (careful && !keeps_promises(c, &c->candidates[i], 1, nomem)) {
			if (*nomem)
				return false;
			continue;
		}
		liked += i < preferred;
		c->given[n++] = c->candidates[i];
	}
	if (n < own->count)
		return false;
	if (own->near && !lease_near(c->given, own->count, n, liked, c->inventory)) {
		*nomem = true;
		return false;
	}
	return !careful || keeps_promises(c, c->given, own->count, nomem);
}

static bool uses_any(const struct lease_wish *wish, const size_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (wish->usable[list[i]])
			return true;
	return false;
}

bool lease_choose(size_t *ret, bool *passed, const struct lease_wish *wishes, size_t count,
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
		memcpy(c.loads, loads, c.gpus * sizeof(*c.loads));
		*nomem = !promise_all(&c, c.loads, c.promises, c.given);
	}
	if (!*nomem)
		enough = choose_own(&c, nomem);
	for (size_t w = 0; !*nomem && w < c.earlier; w++)
		passed[w] = enough && !c.promises[w].enough &&
			    uses_any(&wishes[w], c.given, own->count);
	if (enough)
		memcpy(ret, c.given, own->count * sizeof(*ret));
	choice_free(&c);
	return enough;
}
