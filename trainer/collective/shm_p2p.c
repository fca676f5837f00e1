/* SPDX-License-Identifier: MIT */
/* Messages lie in a box between two ranks, which grows to the largest, so that a sender can
 * continue before they are taken. */
#include <stdlib.h>
#include <string.h>

#include "collective/shm_data.h"
#include "collective/shm_segment.h"
#include "memory.h"

static struct shm_box *box_of(const struct shm_comm *comm, int from, int to)
{
	return &comm->rendezvous->boxes[from * comm->base.world + to];
}

static bool grow(struct shm_comm *comm, struct shm_box *box, int to, size_t bytes,
		 struct train_error *error)
{
	struct train_error why = {.status = TRAIN_OK};

	if (!comm->rendezvous->threads) {
		if (!shm_segment_grow(comm->rendezvous, &comm->to[to], bytes, &why))
			return shm_fail(comm->rendezvous, error, "rank %d: %s", comm->base.rank,
					why.text);
		box->offset = comm->to[to].offset;
		box->capacity = comm->to[to].capacity;
		return true;
	}
	free(box->memory);
	box->memory = xmalloc(bytes);
	box->capacity = bytes;
	return true;
}

bool shm_p2p_send(struct shm_comm *comm, int to, const void *values, size_t bytes,
		  struct train_error *error)
{
	struct shm_box *box = box_of(comm, comm->base.rank, to);
	uint32_t sent = atomic_load(&box->sent);

	if (!shm_wait(comm, &box->taken, sent, to, error))
		return false;
	if (bytes > box->capacity && !grow(comm, box, to, bytes, error))
		return false;
	if (bytes > 0)
		memcpy(comm->rendezvous->threads ? box->memory : comm->to[to].memory, values,
		       bytes);
	box->call = comm->doing;
	atomic_store(&box->sent, sent + 1);
	shm_post(comm->rendezvous, to);
	return true;
}

bool shm_p2p_receive(struct shm_comm *comm, int from, void *values, size_t bytes,
		     struct train_error *error)
{
	struct shm_box *box = box_of(comm, from, comm->base.rank);
	struct shm_map *map = comm->rendezvous->threads ? NULL : &comm->from[from];
	uint32_t taken = atomic_load(&box->taken);

	if (!shm_wait(comm, &box->sent, taken + 1, from, error))
		return false;
	if (box->call.bytes != bytes || strcmp(box->call.what, comm->doing.what) != 0)
		return shm_fail(
			comm->rendezvous, error, "%s",
			call_difference_message(comm->base.rank, &comm->doing, from, &box->call)
				.text);
	if (map && bytes > 0 && map->offset != box->offset &&
	    !shm_segment_map(comm->rendezvous, map, box->offset, box->capacity, error))
		return shm_fail(comm->rendezvous, error, "rank %d: %s", comm->base.rank,
				error->text);
	if (bytes > 0)
		memcpy(values, map ? map->memory : box->memory, bytes);
	atomic_store(&box->taken, taken + 1);
	shm_post(comm->rendezvous, from);
	return true;
}
