/* SPDX-License-Identifier: MIT */
/* Which GPUs a job gets, and which are promised to those before it. */
#include "inventory/inventory.h"
#include "lease/lease.h"

/* The GPUs that a job could take now, in the order of preference. */
static size_t available(size_t *ret, size_t *preferred, const struct lease_wish *wish,
			const bool *promised, size_t gpus)
{
	size_t n = 0;

	*preferred = 0;
	for (size_t i = 0; i < gpus; i++) {
		size_t g = wish->order[i];

		if (!wish->usable[g] || !wish->free_gpus[g] || promised[g])
			continue;
		ret[n++] = g;
		*preferred += i < wish->preferred;
	}
	return n;
}

static bool uses_any(const struct lease_wish *wish, const size_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (wish->usable[list[i]])
			return true;
	return false;
}

bool lease_choose(size_t *ret, bool *passed, const struct lease_wish *wishes, size_t count,
		  const gpumap_inventory *inventory, bool *nomem)
{
	const size_t gpus = inventory->count;
	bool *promised = calloc(gpus + 1, sizeof(*promised));
	size_t *given = calloc(gpus + 1, sizeof(*given)), n = 0, preferred;
	bool enough = false;

	*nomem = !promised || !given;
	for (size_t w = 0; !*nomem && w < count; w++) {
		const struct lease_wish *wish = &wishes[w];

		n = available(given, &preferred, wish, promised, gpus);
		enough = n >= wish->count;
		if (enough && wish->near)
			*nomem = !lease_near(given, wish->count, n, preferred, inventory);
		n = enough ? wish->count : n;
		for (size_t i = 0; i < n; i++)
			promised[given[i]] = true;
		for (size_t g = 0; !enough && wish->firm && g < gpus; g++)
			promised[g] = promised[g] || wish->usable[g];
		if (w + 1 < count)
			passed[w] = !enough;
	}
	enough = enough && !*nomem;
	for (size_t w = 0; !*nomem && w + 1 < count; w++)
		passed[w] = enough && passed[w] && uses_any(&wishes[w], given, n);
	if (enough)
		memcpy(ret, given, n * sizeof(*ret));
	free(promised);
	free(given);
	return enough;
}
