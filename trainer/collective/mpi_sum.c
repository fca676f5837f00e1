/* SPDX-License-Identifier: MIT */
/*
 * MPI_Allreduce may add in any order, and with four ranks it does. Here every rank gets its part
 * from all, adds in the order of ranks, and gives the sum to all: the same bytes are sent, in
 * pieces whose parts stay in cache.
 */
#include <stdlib.h>

#include "collective/mpi_comm.h"
#include "collective/sum.h"

enum { PIECE = 1 << 18, LEAST_PART = 1 << 14 }; /* floats */

static int64_t piece_of(const struct mpi_comm *comm)
{
	int64_t least = (int64_t)LEAST_PART * comm->base.world;

	return least > PIECE ? least : PIECE;
}

static bool make_room(struct mpi_comm *comm, int64_t floats, struct train_error *error)
{
	size_t bytes = (size_t)floats * sizeof(*comm->parts);
	float *parts;

	if (bytes <= comm->parts_bytes)
		return true;
	parts = realloc(comm->parts, bytes);
	if (!parts)
		return train_nomem(error, "sums over ranks");
	comm->parts = parts;
	comm->parts_bytes = bytes;
	return true;
}

static bool sum_piece(struct mpi_comm *comm, float *values, int64_t n, const struct call *call,
		      struct train_error *error)
{
	int world = comm->base.world;
	struct sum_part own = sum_part(n, world, comm->base.rank);
	float *sum = values + own.first;

	for (int r = 0; r < world; r++) {
		struct sum_part part = sum_part(n, world, r);

		comm->counts[r] = (int)part.n;
		comm->offsets[r] = (int)part.first;
		comm->own_counts[r] = (int)own.n;
		comm->own_offsets[r] = (int)own.n * r;
		comm->from[r] = comm->parts + own.n * r;
	}
	if (!mpi_good(comm,
		      MPI_Alltoallv(values, comm->counts, comm->offsets, MPI_FLOAT, comm->parts,
				    comm->own_counts, comm->own_offsets, MPI_FLOAT, comm->comm),
		      call, error))
		return false;
	sum_ranks(&sum, 1, comm->from, world, own.n);
	return mpi_good(comm,
			MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, comm->counts,
				       comm->offsets, MPI_FLOAT, comm->comm),
			call, error);
}

bool mpi_sum(struct mpi_comm *comm, float *values, int64_t count, const struct call *call,
	     struct train_error *error)
{
	int64_t piece = piece_of(comm), max = count < piece ? count : piece;

	if (!make_room(comm, sum_part(max, comm->base.world, 0).n * comm->base.world, error))
		return false;
	for (int64_t at = 0; at < count; at += piece)
		if (!sum_piece(comm, values + at, count - at < piece ? count - at : piece, call,
			       error))
			return false;
	return true;
}
