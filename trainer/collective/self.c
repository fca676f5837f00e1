/* SPDX-License-Identifier: MIT */
/* A world of one rank, whose sums are its own values. */
#include <stdlib.h>
#include <string.h>

#include "collective/collective.h"
#include "memory.h"

/* There is nothing to share. */
struct rendezvous {
	char none;
};

static bool self_meet(struct rendezvous **rendezvous, const struct rendezvous_options *options,
		      struct train_error *error)
{
	if (options->world != 1 || options->ranks != 1)
		return train_fail(
			error, TRAIN_BAD_INPUT,
			"collective self: it is for a world of one rank, and this one has "
			"%d: use shm on one machine, or mpi",
			options->world);
	*rendezvous = xcalloc(1, sizeof(**rendezvous));
	return true;
}

static void self_leave(struct rendezvous *rendezvous)
{
	free(rendezvous);
}

static bool self_open(struct communicator **comm, struct rendezvous *rendezvous, int rank,
		      struct device *device, struct train_error *error)
{
	if (rank != 0)
		return train_fail(error, TRAIN_BAD_INPUT, "rank %d: the world has rank 0 alone",
				  rank);
	*comm = xmalloc(sizeof(**comm));
	**comm = (struct communicator){&collective_self, 0, 1, device, 0};
	return true;
}

static void self_close(struct communicator *comm)
{
	free(comm);
}

static bool self_all_reduce(struct communicator *comm, float *values, int64_t count,
			    const char *what, struct train_error *error)
{
	return true;
}

static bool self_broadcast(struct communicator *comm, void *values, size_t bytes, int root,
			   const char *what, struct train_error *error)
{
	return true;
}

static bool self_all_gather(struct communicator *comm, const void *mine, void *all, size_t bytes,
			    const char *what, struct train_error *error)
{
	if (bytes > 0 && mine != all)
		memcpy(all, mine, bytes);
	return true;
}

static bool self_all_gather_values(struct communicator *comm, const void *mine, void *all,
				   size_t bytes, const char *what, struct train_error *error)
{
	return bytes == 0 || mine == all ||
	       comm->device->backend->copy(comm->device, all, comm->device, mine, bytes, error);
}

static void self_abort(struct communicator *comm, const struct train_error *why)
{
}

static void self_cancel(struct rendezvous *rendezvous, int rank, const struct train_error *why)
{
}

const struct collective collective_self = {
	.name = "self",
	.waits = true,
	.on_devices = true,
	.records = true,
	.meet = self_meet,
	.leave = self_leave,
	.cancel = self_cancel,
	.open = self_open,
	.close = self_close,
	.all_reduce = self_all_reduce,
	.broadcast = self_broadcast,
	.all_gather = self_all_gather,
	.all_gather_values = self_all_gather_values,
	.abort = self_abort,
};
