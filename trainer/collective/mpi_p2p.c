/* SPDX-License-Identifier: MIT */
/* Messages: a header, then the values, from a copy so that the sender can continue. MPI counts in
 * int, so values are sent in parts. */
#include <stdlib.h>
#include <string.h>

#include "collective/mpi_comm.h"

enum { TAG_CALL = 1, TAG_VALUES = 2, PART = 1 << 24 };

static int part_bytes(size_t left)
{
	return left < PART ? (int)left : PART;
}

static bool make_room(struct mpi_send *sent, size_t bytes, struct train_error *error)
{
	size_t requests = 1 + (bytes + PART - 1) / PART;
	void *memory;

	if (requests > (size_t)sent->room) {
		memory = realloc(sent->requests, requests * sizeof(*sent->requests));
		if (!memory)
			return train_nomem(error, "a message");
		sent->requests = memory;
		sent->room = (int)requests;
	}
	if (bytes > sent->capacity) {
		memory = realloc(sent->values, bytes);
		if (!memory)
			return train_nomem(error, "a message");
		sent->values = memory;
		sent->capacity = bytes;
	}
	return true;
}

static bool put(struct mpi_comm *c, int to, int tag, const void *values, int bytes,
		struct train_error *error)
{
	struct mpi_send *sent = &c->sends[to];

	return mpi_good(c,
			MPI_Isend(values, bytes, MPI_BYTE, to, tag, c->comm,
				  &sent->requests[sent->count++]),
			&sent->call, error);
}

static bool send(struct mpi_comm *c, int to, const void *values, const struct call *call,
		 struct train_error *error)
{
	struct mpi_send *sent = &c->sends[to];

	for (int i = 0; i < sent->count; i++)
		if (!mpi_wait(c, &sent->requests[i], to, call, error))
			return false;
	sent->count = 0;
	if (!make_room(sent, call->bytes, error))
		return false;
	sent->call = *call;
	if (call->bytes > 0)
		memcpy(sent->values, values, call->bytes);
	if (!put(c, to, TAG_CALL, &sent->call, sizeof(sent->call), error))
		return false;
	for (size_t at = 0; at < call->bytes; at += PART)
		if (!put(c, to, TAG_VALUES, sent->values + at, part_bytes(call->bytes - at), error))
			return false;
	return true;
}

bool mpi_send(struct communicator *comm, int to, const void *values, size_t bytes, const char *what,
	      struct train_error *error)
{
	const struct call call = call_of(CALL_SEND, to, bytes, what);
	struct mpi_comm *c = (struct mpi_comm *)(void *)comm;

	return mpi_enter(c, &call, error) && mpi_leave(c, send(c, to, values, &call, error));
}

static bool get(struct mpi_comm *comm, int from, int tag, void *values, int bytes,
		const struct call *call, struct train_error *error)
{
	MPI_Request request = MPI_REQUEST_NULL;

	return mpi_good(comm, MPI_Irecv(values, bytes, MPI_BYTE, from, tag, comm->comm, &request),
			call, error) &&
	       mpi_wait(comm, &request, from, call, error);
}

static bool get_values(struct mpi_comm *comm, int from, unsigned char *values,
		       const struct call *call, struct train_error *error)
{
	for (size_t at = 0; at < call->bytes; at += PART)
		if (!get(comm, from, TAG_VALUES, values + at, part_bytes(call->bytes - at), call,
			 error))
			return false;
	return true;
}

static bool receive(struct mpi_comm *c, int from, void *values, const struct call *call,
		    struct train_error *error)
{
	struct call sent = *call;

	if (!get(c, from, TAG_CALL, &sent, sizeof(sent), call, error))
		return false;
	if (sent.bytes == call->bytes && strcmp(sent.what, call->what) == 0)
		return get_values(c, from, values, call, error);
	c->rendezvous->failed = true;
	return train_fail(error, TRAIN_FAILED, "%s",
			  call_difference_message(c->base.rank, call, from, &sent).text);
}

bool mpi_receive(struct communicator *comm, int from, void *values, size_t bytes, const char *what,
		 struct train_error *error)
{
	const struct call call = call_of(CALL_RECEIVE, from, bytes, what);
	struct mpi_comm *c = (struct mpi_comm *)(void *)comm;

	return mpi_enter(c, &call, error) && mpi_leave(c, receive(c, from, values, &call, error));
}

void mpi_p2p_end(struct mpi_comm *comm)
{
	for (int r = 0; r < comm->base.world && comm->sends; r++) {
		struct mpi_send *sent = &comm->sends[r];

		/* MPI may still read what is not sent yet. */
		if (comm->rendezvous->failed)
			continue;
		MPI_Waitall(sent->count, sent->requests, MPI_STATUSES_IGNORE);
		free(sent->requests);
		free(sent->values);
	}
	if (!comm->rendezvous->failed)
		free(comm->sends);
}
