/* SPDX-License-Identifier: MIT */
/* Threads of one process use each other's memory directly. */
#include <sched.h>
#include <string.h>

#include "collective/shm_data.h"
#include "collective/sum.h"

/* A rank that fails leaves the call before the others, and its memory may be freed. So the others
 * mark when they use it, and do not begin after the failure. */
static bool enter(struct shm_comm *comm, struct train_error *error)
{
	atomic_store(&comm->slot->inside, 1);
	if (atomic_load(&comm->control->failed) == 0)
		return true;
	atomic_store(&comm->slot->inside, 0);
	return shm_good(comm->rendezvous, error);
}

static bool leave(struct shm_comm *comm, bool good, struct train_error *error)
{
	atomic_store(&comm->slot->inside, 0);
	if (good && shm_phase(comm, error))
		return true;
	for (int r = 0; r < comm->base.world; r++)
		while (atomic_load(&comm->control->slots[r].inside))
			sched_yield();
	return false;
}

static void *values_of(const struct shm_comm *comm, int at, int rank)
{
	return comm->control->slots[rank].calls[at].values;
}

static bool threads_sum(struct shm_comm *comm, int at, float *values, int64_t count,
			struct train_error *error)
{
	float *all[SHM_MAX_RANKS];
	int world = comm->base.world;
	struct sum_part part = sum_part(count, world, comm->base.rank);
	bool good = shm_agree(comm, error) && enter(comm, error);

	if (good) {
		for (int r = 0; r < world; r++)
			all[r] = (float *)values_of(comm, at, r) + part.first;
		sum_ranks(all, world, (const float *const *)all, world, part.n);
	}
	return leave(comm, good, error);
}

static bool threads_broadcast(struct shm_comm *comm, int at, void *values, size_t bytes, int root,
			      struct train_error *error)
{
	bool good = shm_agree(comm, error) && enter(comm, error);

	if (good && root != comm->base.rank)
		memcpy(values, values_of(comm, at, root), bytes);
	return leave(comm, good, error);
}

static bool threads_gather(struct shm_comm *comm, int at, const void *mine, void *all, size_t bytes,
			   struct train_error *error)
{
	bool good = shm_agree(comm, error) && enter(comm, error);

	for (int r = 0; good && r < comm->base.world; r++) {
		unsigned char *to = (unsigned char *)all + (size_t)r * bytes;
		const void *from = values_of(comm, at, r);

		if (to != from)
			memcpy(to, from, bytes);
	}
	return leave(comm, good, error);
}

const struct shm_data shm_threads = {threads_sum, threads_broadcast, threads_gather};
