/* SPDX-License-Identifier: MIT */
/* The module of MPI: how ranks meet, agree and part. */
#include "config.h"

#include "collective/mpi_module.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collective/mpi_comm.h"

const char collective_mpi_version[] = PACKAGE_VERSION;

bool mpi_agree(struct mpi_comm *comm, const struct call *call, struct train_error *error)
{
	MPI_Request request = MPI_REQUEST_NULL;
	int bytes = sizeof(*call);

	if (!mpi_good(comm,
		      MPI_Iallgather(call, bytes, MPI_BYTE, comm->calls, bytes, MPI_BYTE,
				     comm->comm, &request),
		      call, error) ||
	    !mpi_wait(comm, &request, -1, call, error))
		return false;
	for (int r = 1; r < comm->base.world; r++) {
		if (call_same(&comm->calls[r], &comm->calls[0]))
			continue;
		comm->rendezvous->failed = true;
		return train_fail(error, TRAIN_FAILED, "%s",
				  call_difference(r, &comm->calls[r], &comm->calls[0]).text);
	}
	return true;
}

static bool mpi_begin(struct train_error *error)
{
	int there = 0, ended = 0, level = MPI_THREAD_SINGLE;

	MPI_Finalized(&ended);
	if (ended)
		return train_fail(error, TRAIN_FAILED, "collective mpi: MPI has ended here before");
	MPI_Initialized(&there);
	if (there)
		MPI_Query_thread(&level);
	else if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS)
		return train_fail(error, TRAIN_FAILED, "collective mpi: MPI does not start");
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (level >= MPI_THREAD_SERIALIZED)
		return true;
	return train_fail(error, TRAIN_FAILED,
			  "collective mpi: this MPI was built without threads: use one with "
			  "MPI_THREAD_SERIALIZED");
}

static bool mpi_meet(struct rendezvous **rendezvous, const struct rendezvous_options *options,
		     struct train_error *error)
{
	struct rendezvous *m;
	int world = 0;

	if (options->ranks != 1)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "collective mpi: %d ranks in one process: use shm for threads",
				  options->ranks);
	if (!mpi_begin(error))
		return false;
	MPI_Comm_size(MPI_COMM_WORLD, &world);
	if (world != options->world)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "collective mpi: the world has %d ranks and MPI's has %d: start "
				  "it with mpirun -np %d, or srun --mpi=pmix -n %d",
				  options->world, world, options->world, options->world);
	m = calloc(1, sizeof(*m));
	if (!m)
		return train_nomem(error, "communication between ranks");
	m->options = *options;
	m->options.name = NULL;
	*rendezvous = m;
	return true;
}

static void mpi_leave_rendezvous(struct rendezvous *rendezvous)
{
	if (!rendezvous->failed)
		MPI_Finalize();
	free(rendezvous);
}

static void mpi_free(struct mpi_comm *comm)
{
	mpi_p2p_end(comm);
	free(comm->calls);
	free(comm->counts);
	free(comm->from);
	free(comm->parts);
	free(comm);
}

static struct mpi_comm *mpi_new(struct rendezvous *rendezvous, int rank, struct device *device)
{
	struct mpi_comm *comm = calloc(1, sizeof(*comm));
	int world = rendezvous->options.world;

	if (!comm)
		return NULL;
	comm->base = (struct communicator){&collective_mpi, rank, world, device, 0};
	comm->rendezvous = rendezvous;
	comm->comm = MPI_COMM_WORLD;
	comm->calls = calloc((size_t)world, sizeof(*comm->calls));
	comm->counts = calloc(5 * (size_t)world, sizeof(*comm->counts));
	comm->from = calloc((size_t)world, sizeof(*comm->from));
	comm->sends = calloc((size_t)world, sizeof(*comm->sends));
	if (!comm->calls || !comm->counts || !comm->from || !comm->sends) {
		mpi_free(comm);
		return NULL;
	}
	comm->offsets = comm->counts + world;
	comm->own_counts = comm->offsets + world;
	comm->own_offsets = comm->own_counts + world;
	comm->doing = comm->own_offsets + world;
	return comm;
}

static void mpi_close(struct communicator *comm)
{
	struct mpi_comm *c = (struct mpi_comm *)(void *)comm;
	bool failed = c->rendezvous->failed;
	MPI_Comm own = c->comm;

	mpi_free(c);
	if (!failed && own != MPI_COMM_WORLD)
		MPI_Comm_free(&own);
}

/* MPI_Comm_dup would wait without a limit for ranks that do not come. If they come too late, MPI
 * may still write to `own`. */
static bool open_own(struct mpi_comm *c, const struct call *call, struct train_error *error)
{
	static MPI_Comm own;
	MPI_Request request = MPI_REQUEST_NULL;

	if (!mpi_good(c, MPI_Comm_idup(MPI_COMM_WORLD, &own, &request), call, error) ||
	    !mpi_wait(c, &request, -1, call, error))
		return false;
	c->comm = own;
	return true;
}

static bool mpi_open(struct communicator **comm, struct rendezvous *rendezvous, int rank,
		     struct device *device, struct train_error *error)
{
	const struct call call = call_of(CALL_OPEN, 0, 0, "");
	struct mpi_comm *c;
	int own = -1;

	MPI_Comm_rank(MPI_COMM_WORLD, &own);
	if (rank != own) {
		rendezvous->failed = true;
		return train_fail(error, TRAIN_BAD_INPUT,
				  "rank %d is rank %d for MPI: take the rank from its launcher",
				  rank, own);
	}
	c = mpi_new(rendezvous, rank, device);
	if (!c)
		return train_nomem(error, "collectives");
	if (!open_own(c, &call, error) || !mpi_agree(c, &call, error)) {
		mpi_close(&c->base);
		return false;
	}
	*comm = &c->base;
	return true;
}

static bool mpi_all_reduce(struct communicator *comm, float *values, int64_t count,
			   const char *what, struct train_error *error)
{
	const struct call call = call_of(CALL_SUM, 0, (size_t)count * sizeof(*values), what);
	struct mpi_comm *c = (struct mpi_comm *)(void *)comm;

	return mpi_enter(c, &call, error) &&
	       mpi_leave(c, mpi_agree(c, &call, error) && mpi_sum(c, values, count, &call, error));
}

/* MPI counts in int. */
static bool broadcast(struct mpi_comm *comm, unsigned char *values, size_t bytes, int root,
		      const struct call *call, struct train_error *error)
{
	for (size_t at = 0; at < bytes; at += 1 << 30) {
		size_t n = bytes - at < 1 << 30 ? bytes - at : 1 << 30;

		if (!mpi_good(comm, MPI_Bcast(values + at, (int)n, MPI_BYTE, root, comm->comm),
			      call, error))
			return false;
	}
	return true;
}

static bool mpi_broadcast(struct communicator *comm, void *values, size_t bytes, int root,
			  const char *what, struct train_error *error)
{
	const struct call call = call_of(CALL_BROADCAST, root, bytes, what);
	struct mpi_comm *c = (struct mpi_comm *)(void *)comm;

	return mpi_enter(c, &call, error) &&
	       mpi_leave(c, mpi_agree(c, &call, error) &&
				    broadcast(c, values, bytes, root, &call, error));
}

static bool gather(struct mpi_comm *c, unsigned char *all, size_t bytes, const struct call *call,
		   struct train_error *error)
{
	if (bytes <= INT_MAX)
		return mpi_good(c,
				MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, (int)bytes,
					      MPI_BYTE, c->comm),
				call, error);
	for (int r = 0; r < c->base.world; r++)
		if (!broadcast(c, all + (size_t)r * bytes, bytes, r, call, error))
			return false;
	return true;
}

static bool mpi_all_gather(struct communicator *comm, const void *mine, void *all, size_t bytes,
			   const char *what, struct train_error *error)
{
	const struct call call = call_of(CALL_GATHER, 0, bytes, what);
	struct mpi_comm *c = (struct mpi_comm *)(void *)comm;
	unsigned char *own = bytes > 0 ? (unsigned char *)all + (size_t)comm->rank * bytes : NULL;

	if (!mpi_enter(c, &call, error))
		return false;
	if (!mpi_agree(c, &call, error) || bytes == 0)
		return mpi_leave(c, bytes == 0 && error->status == TRAIN_OK);
	if (mine != own)
		memcpy(own, mine, bytes);
	return mpi_leave(c, gather(c, all, bytes, &call, error));
}

/* Another thread returns from its call soon, unless MPI waits there for a process that is gone. */
static void mpi_cancel(struct rendezvous *rendezvous, int rank, const struct train_error *why)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	atomic_store(&rendezvous->aborted, true);
	for (int ms = 0; ms < 1000 && atomic_load(&rendezvous->calls) > 0; ms++)
		nanosleep(&pause, NULL);
	MPI_Abort(MPI_COMM_WORLD, (int)why->status);
}

static void mpi_abort(struct communicator *comm, const struct train_error *why)
{
	mpi_cancel(((struct mpi_comm *)(void *)comm)->rendezvous, comm->rank, why);
}

const struct collective collective_mpi = {
	.name = "mpi",
	.waits = true,
	.meet = mpi_meet,
	.leave = mpi_leave_rendezvous,
	.cancel = mpi_cancel,
	.open = mpi_open,
	.close = mpi_close,
	.all_reduce = mpi_all_reduce,
	.broadcast = mpi_broadcast,
	.all_gather = mpi_all_gather,
	.all_gather_values = mpi_all_gather,
	.send = mpi_send,
	.receive = mpi_receive,
	.check = mpi_check,
	.abort = mpi_abort,
};
