/* SPDX-License-Identifier: MIT */
/*
 * Processes send values through the segment in chunks. Each rank has two, used in turn, also across
 * calls: a rank that writes one again has passed the phase after which all have left it. So between
 * two phases a rank writes one chunk while the previous one is summed or read.
 */
#include <string.h>

#include "collective/shm_data.h"
#include "collective/sum.h"

static unsigned char *chunk_of(const struct shm_comm *comm, int rank, int64_t index)
{
	uint32_t turn = (comm->chunks + (uint32_t)index) & 1;

	return comm->rendezvous->chunks + (2 * (size_t)rank + turn) * comm->rendezvous->chunk;
}

static int64_t chunks_in(uint64_t n, size_t chunk)
{
	return (int64_t)(n / chunk + (n % chunk != 0));
}

/* After a step that is not the last. */
static bool step_end(struct shm_comm *comm, int64_t step, struct train_error *error)
{
	return step == 0 ? shm_agree(comm, error) : shm_phase(comm, error);
}

/* --- sums: a chunk is written, summed and read in three steps ------------------------------ */

struct summing {
	float *values;
	int64_t count, each; /* floats, and of a chunk */
	int64_t part;        /* of a chunk, for each rank */
};

static int64_t floats_of(const struct summing *sum, int64_t index)
{
	int64_t left = sum->count - index * sum->each;

	return left < sum->each ? left : sum->each;
}

/* A rank's part has its place in a chunk, however short the last chunk is: while parts of others
 * are written, this rank's part of the previous chunk may still be read. */
static float *part_of(const struct shm_comm *comm, const struct summing *sum, int64_t index,
		      int rank, int part)
{
	return (float *)(void *)chunk_of(comm, rank, index) + part * sum->part;
}

/* Other ranks sum their parts of it; a rank's own part is read in place. */
static void sum_write(struct shm_comm *comm, const struct summing *sum, int64_t index)
{
	int64_t n = floats_of(sum, index);
	const float *values = sum->values + index * sum->each;

	for (int r = 0; r < comm->base.world; r++) {
		struct sum_part part = sum_part(n, comm->base.world, r);

		if (r != comm->base.rank)
			memcpy(part_of(comm, sum, index, comm->base.rank, r), values + part.first,
			       (size_t)part.n * sizeof(*values));
	}
}

/* The sum lies in the place of the rank's own part of the chunk. */
static void sum_own(struct shm_comm *comm, const struct summing *sum, int64_t index)
{
	const float *from[SHM_MAX_RANKS];
	int rank = comm->base.rank, world = comm->base.world;
	struct sum_part own = sum_part(floats_of(sum, index), world, rank);
	float *values = sum->values + index * sum->each + own.first;
	float *to[2] = {values, part_of(comm, sum, index, rank, rank)};

	for (int r = 0; r < world; r++)
		from[r] = r == rank ? values : part_of(comm, sum, index, r, rank);
	sum_ranks(to, 2, from, world, own.n);
}

static void sum_read(struct shm_comm *comm, const struct summing *sum, int64_t index)
{
	float *values = sum->values + index * sum->each;
	int64_t n = floats_of(sum, index);

	for (int r = 0; r < comm->base.world; r++) {
		struct sum_part part = sum_part(n, comm->base.world, r);

		if (r != comm->base.rank)
			memcpy(values + part.first, part_of(comm, sum, index, r, r),
			       (size_t)part.n * sizeof(*values));
	}
}

static bool chunks_sum(struct shm_comm *comm, int at, float *values, int64_t count,
		       struct train_error *error)
{
	int64_t world = comm->base.world, line = SHM_LINE / sizeof(*values);
	int64_t part = (int64_t)comm->rendezvous->chunk / SHM_LINE / world * line;
	const struct summing sum = {values, count, part * world, part};
	int64_t chunks = chunks_in((uint64_t)count, (size_t)sum.each);

	for (int64_t step = 0; step < chunks + 2; step++) {
		if (step < chunks)
			sum_write(comm, &sum, step);
		if (step >= 1 && step <= chunks)
			sum_own(comm, &sum, step - 1);
		if (step >= 2)
			sum_read(comm, &sum, step - 2);
		if (step < chunks + 1 && !step_end(comm, step, error))
			return false;
	}
	comm->chunks += (uint32_t)chunks;
	return true;
}

/* --- copies: a chunk is written and read in two steps -------------------------------------- */

static size_t bytes_of(const struct shm_comm *comm, size_t bytes, int64_t index)
{
	size_t left = bytes - (size_t)index * comm->rendezvous->chunk;

	return left < comm->rendezvous->chunk ? left : comm->rendezvous->chunk;
}

static void copy_write(struct shm_comm *comm, const void *values, size_t bytes, int64_t index)
{
	const unsigned char *from = values;

	memcpy(chunk_of(comm, comm->base.rank, index),
	       from + (size_t)index * comm->rendezvous->chunk, bytes_of(comm, bytes, index));
}

static void copy_read(struct shm_comm *comm, int rank, void *values, size_t bytes, int64_t index)
{
	unsigned char *to = values;

	memcpy(to + (size_t)index * comm->rendezvous->chunk, chunk_of(comm, rank, index),
	       bytes_of(comm, bytes, index));
}

static bool chunks_broadcast(struct shm_comm *comm, int at, void *values, size_t bytes, int root,
			     struct train_error *error)
{
	int64_t chunks = chunks_in(bytes, comm->rendezvous->chunk);
	bool mine = root == comm->base.rank;

	for (int64_t step = 0; step < chunks + 1; step++) {
		if (mine && step < chunks)
			copy_write(comm, values, bytes, step);
		if (!mine && step >= 1)
			copy_read(comm, root, values, bytes, step - 1);
		if (step < chunks && !step_end(comm, step, error))
			return false;
	}
	comm->chunks += (uint32_t)chunks;
	return true;
}

static bool chunks_gather(struct shm_comm *comm, int at, const void *mine, void *all, size_t bytes,
			  struct train_error *error)
{
	int64_t chunks = chunks_in(bytes, comm->rendezvous->chunk);
	unsigned char *to = all;

	for (int64_t step = 0; step < chunks + 1; step++) {
		if (step < chunks)
			copy_write(comm, mine, bytes, step);
		for (int r = 0; step >= 1 && r < comm->base.world; r++)
			copy_read(comm, r, to + (size_t)r * bytes, bytes, step - 1);
		if (step < chunks && !step_end(comm, step, error))
			return false;
	}
	comm->chunks += (uint32_t)chunks;
	return true;
}

const struct shm_data shm_chunks = {chunks_sum, chunks_broadcast, chunks_gather};
