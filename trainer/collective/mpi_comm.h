/* SPDX-License-Identifier: MIT */
/* Shared by the files of the MPI module. */
#ifndef TRAIN_COLLECTIVE_MPI_COMM_H
#define TRAIN_COLLECTIVE_MPI_COMM_H

#include <mpi.h>
#include <stdatomic.h>

#include "collective/call.h"
#include "collective/mpi_module.h"

/* A message that MPI may not have sent yet, in memory of this module. */
struct mpi_send {
	MPI_Request *requests; /* of the header, and of the parts of its values */
	int count, room;       /* of requests */
	struct call call;
	unsigned char *values;
	size_t capacity;
};

struct rendezvous {
	struct rendezvous_options options;
	bool failed; /* MPI_Finalize would wait for ranks that do not come */
	/* One thread at a time calls MPI: abort waits for the calls of other threads. */
	atomic_int calls;
	atomic_bool aborted;
};

struct mpi_comm {
	struct communicator base;
	struct rendezvous *rendezvous;
	MPI_Comm comm;      /* MPI's world until it is open */
	struct call *calls; /* of all ranks, in the last call */
	int *counts, *offsets, *own_counts, *own_offsets;
	int *doing; /* kinds of calls of ranks that were asked */
	const float **from;
	float *parts; /* of all ranks, to be summed */
	size_t parts_bytes;
	struct mpi_send *sends; /* to each rank */
};

/* Put around all calls of MPI, until the run is aborted; mpi_leave returns `done`. */
bool mpi_enter(struct mpi_comm *comm, const struct call *call, struct train_error *error);
bool mpi_leave(struct mpi_comm *comm, bool done);

/* Notes MPI's error, unless it is success. */
bool mpi_good(struct mpi_comm *comm, int code, const struct call *call, struct train_error *error);
/* Waits for it, counted as time spent on other ranks, without keeping a core busy for long. `peer`
 * is the awaited rank, -1: all; the message names those that are late. */
bool mpi_wait(struct mpi_comm *comm, MPI_Request *request, int peer, const struct call *call,
	      struct train_error *error);
/* As collective.h's check. */
bool mpi_check(struct communicator *comm, const char *where, int64_t waited_ns,
	       struct train_error *error);
/* Waits until all ranks are in this call. */
bool mpi_agree(struct mpi_comm *comm, const struct call *call, struct train_error *error);

bool mpi_sum(struct mpi_comm *comm, float *values, int64_t count, const struct call *call,
	     struct train_error *error);

bool mpi_send(struct communicator *comm, int to, const void *values, size_t bytes, const char *what,
	      struct train_error *error);
bool mpi_receive(struct communicator *comm, int from, void *values, size_t bytes, const char *what,
		 struct train_error *error);
/* Waits until all messages are sent, unless the run has failed; frees them. */
void mpi_p2p_end(struct mpi_comm *comm);

#endif
