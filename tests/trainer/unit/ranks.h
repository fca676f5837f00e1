/* SPDX-License-Identifier: MIT */
/* What a rank does in tests of collectives, as a thread or as a process. Each returns false with
 * the error, or without one where values are wrong. */
#ifndef TRAIN_TEST_RANKS_H
#define TRAIN_TEST_RANKS_H

#include <stdlib.h>
#include <string.h>

#include "collective/collective.h"

/* Sums of these depend on the order. */
static inline float ranks_value(int rank, int64_t i, int turn)
{
	uint32_t x = (uint32_t)i * 2654435761u ^ (uint32_t)(rank * 97 + turn) * 40503u;

	x ^= x >> 15;
	x *= 2246822519u;
	x ^= x >> 13;
	return (float)(int32_t)x * (x & 1 ? 1e-9f : 1e-3f);
}

/* Whether `got` is the sum in the order of ranks. */
static inline bool ranks_is_sum(float got, int world, int64_t i, int turn)
{
	float sum = ranks_value(0, i, turn);

	for (int r = 1; r < world; r++)
		sum += ranks_value(r, i, turn);
	return memcmp(&got, &sum, sizeof(sum)) == 0;
}

static inline bool ranks_sum(struct communicator *comm, int64_t count, int turns,
			     struct train_error *error)
{
	float *values = malloc((size_t)count * sizeof(*values) + 1);
	bool good = values != NULL;

	for (int turn = 0; good && turn < turns; turn++) {
		for (int64_t i = 0; i < count; i++)
			values[i] = ranks_value(comm->rank, i, turn);
		good = comm->calls->all_reduce(comm, values, count, "gradients", error);
		for (int64_t i = 0; good && i < count; i++)
			good = ranks_is_sum(values[i], comm->world, i, turn);
	}
	free(values);
	return good;
}

static inline unsigned char ranks_byte(int rank, size_t i, int turn)
{
	return (unsigned char)((size_t)rank * 31 + i * 7 + (i >> 8) + (size_t)turn);
}

static inline bool ranks_bytes_are(const unsigned char *bytes, size_t n, int rank, int turn)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != ranks_byte(rank, i, turn))
			return false;
	return true;
}

static inline void ranks_bytes_set(unsigned char *bytes, size_t n, int rank, int turn)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = ranks_byte(rank, i, turn);
}

/* Gather from other memory and in place, values of the host and of the device, whose memory the
 * host reads, then broadcast from each rank. */
static inline bool ranks_copy(struct communicator *comm, size_t bytes, struct train_error *error)
{
	unsigned char *mine = malloc(bytes + 1), *all = calloc((size_t)comm->world, bytes + 1);
	bool good = mine && all;

	for (int turn = 0; good && turn < 4; turn++) {
		unsigned char *from = turn & 1 ? all + (size_t)comm->rank * bytes : mine;

		ranks_bytes_set(from, bytes, comm->rank, turn);
		good = (turn & 2 ? comm->calls->all_gather_values
				 : comm->calls->all_gather)(comm, from, all, bytes, "marks", error);
		for (int r = 0; good && r < comm->world; r++)
			good = ranks_bytes_are(all + (size_t)r * bytes, bytes, r, turn);
	}
	for (int root = 0; good && root < comm->world; root++) {
		ranks_bytes_set(mine, bytes, comm->rank, root);
		good = comm->calls->broadcast(comm, mine, bytes, root, "parameters", error) &&
		       ranks_bytes_are(mine, bytes, root, root);
	}
	free(mine);
	free(all);
	return good;
}

static inline bool ranks_get(struct communicator *comm, int from, unsigned char *values, size_t n,
			     const char *what, int turn, struct train_error *error)
{
	return comm->calls->receive(comm, from, values, n, what, error) &&
	       ranks_bytes_are(values, n, from, turn);
}

/* Each sends growing messages to the next and to the one before, then receives from both. */
static inline bool ranks_exchange(struct communicator *comm, size_t bytes,
				  struct train_error *error)
{
	const struct collective *calls = comm->calls;
	unsigned char *values = malloc(bytes + 1);
	int next = (comm->rank + 1) % comm->world;
	int last = (comm->rank + comm->world - 1) % comm->world;
	bool good = values != NULL;

	for (int turn = 0; good && turn < 20; turn++) {
		size_t n = bytes * (size_t)(turn + 1) / 20;

		ranks_bytes_set(values, n, comm->rank, turn);
		good = calls->send(comm, next, values, n, "forward", error);
		if (good && comm->world > 2)
			good = calls->send(comm, last, values, n, "back", error) &&
			       ranks_get(comm, next, values, n, "back", turn, error);
		good = good && ranks_get(comm, last, values, n, "forward", turn, error);
	}
	free(values);
	return good;
}

#endif
