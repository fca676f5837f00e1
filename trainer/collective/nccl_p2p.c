/* SPDX-License-Identifier: MIT */
/*
 * Messages. A message waits for its receiver on the lane's stream, in a copy, and join waits only
 * for the copy. Each lane has one direction, so ranks cannot wait in a circle.
 */
#include "config.h"

#include "collective/nccl_comm.h"

/* The lane of a message from one rank to another. */
static int lane_of(int from, int to)
{
	return from < to ? NCCL_UP : NCCL_DOWN;
}

bool nccl_send(struct communicator *comm, int to, const void *values, size_t bytes,
	       const char *what, struct train_error *error)
{
	const struct call call = call_of(CALL_SEND, to, bytes, what);
	struct nccl_comm *c = nccl_comm_of(comm);
	struct nccl_lane *lane = nccl_begin(c, lane_of(comm->rank, to), &call, error);
	struct nccl_room *box;

	if (!lane)
		return false;
	if (bytes == 0)
		return true;
	box = &c->boxes[to];
	return nccl_room(c, box, bytes, "messages", error) &&
	       NCCL_DO(c, RUNTIME, cudaMemcpyAsync,
		       (box->memory, values, bytes, cudaMemcpyDeviceToDevice, lane->stream),
		       error) &&
	       nccl_end(c, lane, error) &&
	       NCCL_ASK(c, lane, ncclSend,
			(box->memory, bytes, ncclChar, to, lane->comm, lane->stream), error);
}

bool nccl_receive(struct communicator *comm, int from, void *values, size_t bytes, const char *what,
		  struct train_error *error)
{
	const struct call call = call_of(CALL_RECEIVE, from, bytes, what);
	struct nccl_comm *c = nccl_comm_of(comm);
	struct nccl_lane *lane = nccl_begin(c, lane_of(from, comm->rank), &call, error);

	if (!lane)
		return false;
	return bytes == 0 ||
	       (NCCL_ASK(c, lane, ncclRecv,
			 (values, bytes, ncclChar, from, lane->comm, lane->stream), error) &&
		nccl_settle(c, lane, error) && nccl_end(c, lane, error));
}
