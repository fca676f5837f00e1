/* SPDX-License-Identifier: MIT */
/* Small transfers: values are written to the record of the call, and each rank reads what it needs.
 */
#include <string.h>

#include "collective/shm_data.h"
#include "collective/sum.h"

static bool small_sum(struct shm_comm *comm, int at, float *values, int64_t count,
		      struct train_error *error)
{
	const float *from[SHM_MAX_RANKS];

	if (count > 0)
		memcpy(comm->slot->small[at], values, (size_t)count * sizeof(*values));
	if (!shm_agree(comm, error))
		return false;
	for (int r = 0; r < comm->base.world; r++)
		from[r] = (const void *)comm->control->slots[r].small[at];
	sum_ranks(&values, 1, from, comm->base.world, count);
	return true;
}

static bool small_broadcast(struct shm_comm *comm, int at, void *values, size_t bytes, int root,
			    struct train_error *error)
{
	bool mine = root == comm->base.rank;

	if (mine && bytes > 0)
		memcpy(comm->slot->small[at], values, bytes);
	if (!shm_agree(comm, error))
		return false;
	if (!mine && bytes > 0)
		memcpy(values, comm->control->slots[root].small[at], bytes);
	return true;
}

static bool small_gather(struct shm_comm *comm, int at, const void *mine, void *all, size_t bytes,
			 struct train_error *error)
{
	unsigned char *to = all;

	if (bytes > 0)
		memcpy(comm->slot->small[at], mine, bytes);
	if (!shm_agree(comm, error))
		return false;
	for (int r = 0; bytes > 0 && r < comm->base.world; r++)
		memcpy(to + (size_t)r * bytes, comm->control->slots[r].small[at], bytes);
	return true;
}

const struct shm_data shm_small = {small_sum, small_broadcast, small_gather};
