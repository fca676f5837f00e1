/* SPDX-License-Identifier: MIT */
/*
 * nccl-mpi-main RANK WORLD WORK: a rank of collective nccl that mpirun started, on a pretended GPU.
 * NCCL is pretended in one process, so what its ranks do together is not to be seen here: how they
 * meet is, through MPI, and what goes through that.
 *	ids	all have the ids that rank 0 made, one of each communicator
 *	abort	rank 1 ends the run
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective/nccl_comm.h"
#include "fake_cuda.h"

/* What NCCL was asked to open, in order. */
static ncclUniqueId ids[NCCL_LANES];
static int opened;

static ncclResult_t (*init)(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
			    ncclConfig_t *config);

static ncclResult_t note(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
			 ncclConfig_t *config)
{
	if (opened < NCCL_LANES)
		ids[opened] = id;
	opened++;
	return init(comm, ranks, id, rank, config);
}

static bool same_ids(struct communicator *comm, struct train_error *error)
{
	static const ncclUniqueId none;
	ncclUniqueId *all = calloc((size_t)comm->world, sizeof(ids));
	uint64_t made = fake_cuda_made(CUDA_CALL_ncclGetUniqueId);
	bool good = all && collective_nccl.all_gather(comm, ids, all, sizeof(ids), "ids", error);

	for (int r = 0; good && r < comm->world; r++)
		good = memcmp(all + (ptrdiff_t)r * NCCL_LANES, ids, sizeof(ids)) == 0 ||
		       train_fail(error, TRAIN_FAILED, "rank %d has other ids", r);
	free(all);
	if (!good)
		return false;
	if (opened != NCCL_LANES || memcmp(&ids[0], &ids[1], sizeof(ids[0])) == 0 ||
	    memcmp(&ids[0], &none, sizeof(none)) == 0)
		return train_fail(error, TRAIN_FAILED, "%d communicators with the same id", opened);
	return made == (comm->rank == 0 ? NCCL_LANES : 0) ||
	       train_fail(error, TRAIN_FAILED, "rank %d made %d ids", comm->rank, (int)made);
}

static bool work(struct communicator *comm, const char *what, struct train_error *error)
{
	if (strcmp(what, "ids") == 0)
		return same_ids(comm, error);
	if (comm->rank == 1)
		return train_fail(error, TRAIN_BAD_INPUT, "rank 1 has enough");
	return collective_nccl.all_gather(comm, NULL, NULL, 0, "the end", error);
}

/* Rank 1 may be wrong about itself. */
static int rank_for(int rank, const char *what)
{
	return rank == 1 && strcmp(what, "wrong") == 0 ? 0 : rank;
}

static bool run(int rank, int world, const char *what, struct train_error *error)
{
	const struct rendezvous_options options = {
		.world = world, .ranks = 1, .rank = rank, .timeout_ms = 200000, .messages = true};
	const struct device_options where = {.physical = rank};
	struct rendezvous *rendezvous;
	struct communicator *comm = NULL;
	struct device *device;
	bool good;

	if (!collective_nccl.meet(&rendezvous, &options, error))
		return false;
	if (!rendezvous->control || strcmp(rendezvous->control->name, "mpi") != 0)
		return train_fail(error, TRAIN_FAILED, "they do not meet through MPI");
	init = rendezvous->calls.ncclCommInitRankConfig;
	rendezvous->calls.ncclCommInitRankConfig = note;
	if (!backend_cuda.open(&device, &where, error))
		return false;
	good = collective_nccl.open(&comm, rendezvous, rank_for(rank, what), device, error) &&
	       work(comm, what, error);
	if (!good) {
		fprintf(stderr, "%s\n", error->text);
		collective_nccl.abort(comm, error);
	}
	collective_nccl.close(comm);
	backend_cuda.close(device);
	collective_nccl.leave(rendezvous);
	return good;
}

int main(int argc, char **argv)
{
	struct train_error error = {.status = TRAIN_OK};
	char text[FAKE_CUDA_TEXT];
	bool good;

	if (argc != 4)
		return 2;
	fake_cuda_open(&(struct fake_cuda_options){.devices = 1, .elsewhere = true});
	good = run(atoi(argv[1]), atoi(argv[2]), argv[3], &error);
	if (good && !fake_cuda_close(text))
		good = train_fail(&error, TRAIN_FAILED, "%s", text);
	if (good)
		printf("rank %s: good\n", argv[1]);
	else
		fprintf(stderr, "%s\n", error.text);
	return good ? 0 : 1;
}
