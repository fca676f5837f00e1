/* SPDX-License-Identifier: MIT */
/* Which GPUs a job gets, and which are promised to those before it. */
#include "lease/lease.h"

/* Takes up to `count` GPUs that are usable, not promised, and free or busy as asked. */
static size_t take(size_t *ret, size_t count, const struct lease_wish *wish, const bool *promised,
		   const bool *free_gpus, bool wanted, const size_t *order, size_t gpus)
{
	size_t n = 0;

	for (size_t i = 0; i < gpus && n < count; i++) {
		size_t g = order[i];

		if (wish->usable[g] && !promised[g] && free_gpus[g] == wanted)
			ret[n++] = g;
	}
	return n;
}

bool lease_choose(size_t *ret, const struct lease_wish *wishes, size_t count, const bool *free_gpus,
		  const size_t *order, size_t gpus, bool *nomem)
{
	bool *promised = calloc(gpus + 1, sizeof(*promised));
	size_t *given = calloc(gpus + 1, sizeof(*given));
	bool enough = false;

	*nomem = !promised || !given;
	for (size_t w = 0; !*nomem && w < count; w++) {
		const struct lease_wish *wish = &wishes[w];
		size_t all,
			n = take(given, wish->count, wish, promised, free_gpus, true, order, gpus);

		enough = n == wish->count;
		all = n + take(given + n, wish->count - n, wish, promised, free_gpus, false, order,
			       gpus);
		for (size_t i = 0; i < all; i++)
			promised[given[i]] = true;
	}
	if (enough)
		memcpy(ret, given, wishes[count - 1].count * sizeof(*ret));
	free(promised);
	free(given);
	return enough;
}
