/* SPDX-License-Identifier: MIT */
/* Messages: what it is, then its values, from memory of our own so that a sender goes on. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "collective/mpi_comm.h"

enum { TAG_CALL = 1, TAG_VALUES = 2 };

static bool peer_good(const struct mpi_comm *comm, int peer, const struct call *call,
		      struct train_error *error)
{
	if (peer < 0 || peer >= comm->base.world)
		return train_fail(error, TRAIN_FAILED,
				  "rank %d: %s: there is no rank %d, the world has %d",
				  comm->base.rank, call_words(call->kind, call->what).text, peer,
				  comm->base.world);
	if (call->bytes > INT_MAX)
		return train_fail(error, TRAIN_FAILED,
				  "rank %d: %s: %llu bytes, and MPI takes 2 GiB at once: use "
				  "smaller micro-batches",
				  comm->base.rank, call_words(call->kind, call->what).text,
				  (unsigned long long)call->bytes);
	return true;
}

static bool write_letter(struct mpi_letter *letter, const struct call *call, const void *values,
			 struct train_error *error)
{
	void *memory;

	if (call->bytes > letter->capacity) {
		memory = realloc(letter->values, call->bytes);
		if (!memory)
			return train_nomem(error, call->what);
		letter->values = memory;
		letter->capacity = call->bytes;
	}
	letter->call = *call;
	if (call->bytes > 0)
		memcpy(letter->values, values, call->bytes);
	return true;
}

static bool send(struct mpi_comm *c, int to, const void *values, const struct call *call,
		 struct train_error *error)
{
	struct mpi_letter *letter = &c->letters[to];

	for (int i = 0; i < 2; i++)
		if (!mpi_wait(c, &letter->requests[i], to, call, error))
			return false;
	if (!write_letter(letter, call, values, error))
		return false;
	return mpi_good(c,
			MPI_Isend(&letter->call, sizeof(letter->call), MPI_BYTE, to, TAG_CALL,
				  c->comm, &letter->requests[0]),
			call, error) &&
	       mpi_good(c,
			MPI_Isend(letter->values, (int)call->bytes, MPI_BYTE, to, TAG_VALUES,
				  c->comm, &letter->requests[1]),
			call, error);
}

bool mpi_send(struct communicator *comm, int to, const void *values, size_t bytes, const char *what,
	      struct train_error *error)
{
	const struct call call = call_of(CALL_SEND, to, bytes, what);
	struct mpi_comm *c = (struct mpi_comm *)(void *)comm;

	return peer_good(c, to, &call, error) && mpi_enter(c, &call, error) &&
	       mpi_leave(c, send(c, to, values, &call, error));
}

static bool get(struct mpi_comm *comm, int from, int tag, void *values, size_t bytes,
		const struct call *call, struct train_error *error)
{
	MPI_Request request = MPI_REQUEST_NULL;

	return mpi_good(comm,
			MPI_Irecv(values, (int)bytes, MPI_BYTE, from, tag, comm->comm, &request),
			call, error) &&
	       mpi_wait(comm, &request, from, call, error);
}

static bool receive(struct mpi_comm *c, int from, void *values, const struct call *call,
		    struct train_error *error)
{
	struct call sent = *call;
	char text[400];

	if (!get(c, from, TAG_CALL, &sent, sizeof(sent), call, error))
		return false;
	if (sent.bytes == call->bytes && strcmp(sent.what, call->what) == 0)
		return get(c, from, TAG_VALUES, values, call->bytes, call, error);
	call_difference_message(text, sizeof(text), c->base.rank, call, from, &sent);
	c->meeting->failed = true;
	return train_fail(error, TRAIN_FAILED, "%s", text);
}

bool mpi_receive(struct communicator *comm, int from, void *values, size_t bytes, const char *what,
		 struct train_error *error)
{
	const struct call call = call_of(CALL_RECEIVE, from, bytes, what);
	struct mpi_comm *c = (struct mpi_comm *)(void *)comm;

	return peer_good(c, from, &call, error) && mpi_enter(c, &call, error) &&
	       mpi_leave(c, receive(c, from, values, &call, error));
}

void mpi_letters_end(struct mpi_comm *comm)
{
	for (int r = 0; r < comm->base.world && comm->letters; r++) {
		struct mpi_letter *letter = &comm->letters[r];

		/* What is not sent yet MPI may still read. */
		if (comm->meeting->failed)
			continue;
		MPI_Waitall(2, letter->requests, MPI_STATUSES_IGNORE);
		free(letter->values);
	}
	if (!comm->meeting->failed)
		free(comm->letters);
}
