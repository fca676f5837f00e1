/* SPDX-License-Identifier: MIT */
/*
 * Waiting for other ranks. A rank that has waited for the time limit asks the awaited ranks what
 * they are doing. Ranks that wait as well answer; those that do not answer are late.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "collective/mpi_comm.h"

enum { TAG_ASK = 3, TAG_ANSWER = 4, ANSWER_MS = 500, PAUSE_NS = 50000, AWAKE_NS = 1000000 };

static bool aborted(const struct mpi_comm *comm, const struct call *call, struct train_error *error)
{
	return train_fail(error, TRAIN_FAILED, "rank %d: %s: this rank has failed and ends the run",
			  comm->base.rank, call_words(call->kind, call->what).text);
}

bool mpi_enter(struct mpi_comm *comm, const struct call *call, struct train_error *error)
{
	atomic_fetch_add(&comm->rendezvous->calls, 1);
	return !atomic_load(&comm->rendezvous->aborted) ||
	       mpi_leave(comm, aborted(comm, call, error));
}

bool mpi_leave(struct mpi_comm *comm, bool done)
{
	atomic_fetch_sub(&comm->rendezvous->calls, 1);
	return done;
}

bool mpi_good(struct mpi_comm *comm, int code, const struct call *call, struct train_error *error)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int length;

	if (code == MPI_SUCCESS)
		return true;
	comm->rendezvous->failed = true;
	MPI_Error_string(code, text, &length);
	return train_fail(error, TRAIN_FAILED, "rank %d: %s: %s", comm->base.rank,
			  call_words(call->kind, call->what).text, text);
}

static void pause_a_little(void)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	nanosleep(&pause, NULL);
}

/* Whether there is such a message, and its sender. */
static bool arrived(struct mpi_comm *comm, int tag, int *from)
{
	MPI_Status status;
	int there = 0;

	if (MPI_Iprobe(MPI_ANY_SOURCE, tag, comm->comm, &there, &status) != MPI_SUCCESS || !there)
		return false;
	*from = status.MPI_SOURCE;
	return true;
}

/* Answers the ranks that ask what this rank is doing. So small a message is sent without a
 * receiver. */
static void answer(struct mpi_comm *comm, const struct call *call)
{
	int from;

	while (arrived(comm, TAG_ASK, &from))
		if (MPI_Recv(NULL, 0, MPI_BYTE, from, TAG_ASK, comm->comm, MPI_STATUS_IGNORE) !=
			    MPI_SUCCESS ||
		    MPI_Send(&call->kind, 1, MPI_INT32_T, from, TAG_ANSWER, comm->comm) !=
			    MPI_SUCCESS)
			return;
}

/* comm->doing of the awaited ranks becomes their answer, or stays CALL_NONE. */
static void ask(struct mpi_comm *comm, int peer, const struct call *call)
{
	int64_t start = clock_ns();
	MPI_Request request;
	int32_t doing;
	int from;

	for (int r = 0; r < comm->base.world; r++) {
		comm->doing[r] = CALL_NONE;
		if (r == comm->base.rank || (peer >= 0 && r != peer))
			continue;
		if (MPI_Isend(NULL, 0, MPI_BYTE, r, TAG_ASK, comm->comm, &request) == MPI_SUCCESS)
			MPI_Request_free(&request);
	}
	while (clock_ns() - start < (int64_t)ANSWER_MS * 1000000) {
		answer(comm, call);
		while (arrived(comm, TAG_ANSWER, &from)) {
			if (MPI_Recv(&doing, 1, MPI_INT32_T, from, TAG_ANSWER, comm->comm,
				     MPI_STATUS_IGNORE) != MPI_SUCCESS)
				return;
			comm->doing[from] = doing;
		}
		pause_a_little();
	}
}

/* A rank that waits in the same call is not late. */
static bool is_late(const struct mpi_comm *comm, int peer, int rank, const struct call *call)
{
	return peer >= 0 ? rank == peer
			 : rank != comm->base.rank && comm->doing[rank] != call->kind;
}

static bool too_late(struct mpi_comm *comm, int peer, const struct call *call,
		     struct train_error *error)
{
	struct call_late late = {.count = 0};
	char who[32];

	comm->rendezvous->failed = true;
	ask(comm, peer, call);
	for (int r = 0; r < comm->base.world; r++) {
		if (!is_late(comm, peer, r, call))
			continue;
		snprintf(who, sizeof(who), "rank %d", r);
		call_late_add(&late, who, comm->doing[r]);
	}
	if (late.count == 0 && call->kind != CALL_DEVICE)
		call_late_add(&late, "a rank that has come since", CALL_NONE);
	return train_fail(
		error, TRAIN_FAILED, "%s",
		call_late_text(&late, comm->rendezvous->options.timeout_ms, call, comm->base.rank)
			.text);
}

bool mpi_wait(struct mpi_comm *comm, MPI_Request *request, int peer, const struct call *call,
	      struct train_error *error)
{
	int64_t limit = (int64_t)comm->rendezvous->options.timeout_ms * 1000000;
	int64_t start = clock_ns(), waited = 0;
	int there = 0;

	for (;;) {
		if (atomic_load(&comm->rendezvous->aborted))
			return aborted(comm, call, error);
		if (!mpi_good(comm, MPI_Test(request, &there, MPI_STATUS_IGNORE), call, error))
			return false;
		waited = clock_ns() - start;
		if (there || (limit > 0 && waited > limit))
			break;
		if (waited < AWAKE_NS)
			continue;
		answer(comm, call);
		pause_a_little();
	}
	comm->base.waited_ns += waited;
	return there || too_late(comm, peer, call, error);
}

/* A rank that waits for its device answers, so that it is not late. */
static bool check(struct mpi_comm *comm, const struct call *call, int64_t waited_ns,
		  struct train_error *error)
{
	int64_t limit = (int64_t)comm->rendezvous->options.timeout_ms * 1000000;

	answer(comm, call);
	return limit == 0 || waited_ns <= limit || too_late(comm, -1, call, error);
}

bool mpi_check(struct communicator *comm, const char *where, int64_t waited_ns,
	       struct train_error *error)
{
	const struct call call = call_of(CALL_DEVICE, 0, 0, where);
	struct mpi_comm *c = (struct mpi_comm *)(void *)comm;

	return mpi_enter(c, &call, error) && mpi_leave(c, check(c, &call, waited_ns, error));
}
