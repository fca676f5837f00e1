/* SPDX-License-Identifier: MIT */
/* Gathers of host memory: through the control communicator, or by NCCL, which waits only for work
 * on the same stream: sums, broadcasts, and messages to higher ranks. */
#include "config.h"

#include <string.h>

#include "base/clock.h"
#include "collective/nccl_comm.h"

enum { PIECE = 16384 }; /* bytes of each rank at a time */

static bool make_room(struct nccl_comm *c, unsigned char **host, unsigned char **staging,
		      size_t each, struct train_error *error)
{
	struct device *device = &c->device->base;
	size_t bytes = (size_t)c->base.world * each;

	if (!NCCL_DO(c, RUNTIME, cudaMallocHost, ((void **)host, bytes), error))
		return false;
	*staging = device->backend->allocate(device, bytes, "gathered values", error);
	return *staging || nccl_failed(c, error);
}

bool nccl_gather_open(struct nccl_comm *c, struct train_error *error)
{
	return c->control || (make_room(c, &c->host, &c->staging, PIECE, error) &&
			      make_room(c, &c->later.host, &c->later.staging, MAX_GATHER, error));
}

/* A piece of n bytes, from this rank's place in the pinned memory to all ranks, complete at the
 * event. */
static bool put_piece(struct nccl_comm *c, struct nccl_lane *lane, unsigned char *host,
		      unsigned char *staging, size_t n, cudaEvent_t event,
		      struct train_error *error)
{
	size_t own = (size_t)c->base.rank * n;

	return NCCL_DO(c, RUNTIME, cudaMemcpyAsync,
		       (staging + own, host + own, n, cudaMemcpyHostToDevice, lane->stream),
		       error) &&
	       NCCL_ASK(c, lane, ncclAllGather,
			(staging + own, staging, n, ncclChar, lane->comm, lane->stream), error) &&
	       nccl_settle(c, lane, error) &&
	       NCCL_DO(c, RUNTIME, cudaMemcpyAsync,
		       (host, staging, n * (size_t)c->base.world, cudaMemcpyDeviceToHost,
			lane->stream),
		       error) &&
	       NCCL_DO(c, RUNTIME, cudaEventRecord, (event, lane->stream), error);
}

static bool wait_piece(struct nccl_comm *c, cudaEvent_t event, struct train_error *error)
{
	return cuda_wait_event(c->device, event, error) || nccl_failed(c, error);
}

/* A barrier is a byte from each rank. */
static bool gather_on_device(struct nccl_comm *c, struct nccl_lane *lane, const void *mine,
			     void *all, size_t bytes, struct train_error *error)
{
	unsigned char *to = all;
	int64_t begin = clock_ns(), waited = c->base.waited_ns;

	c->host[c->base.rank] = 0;
	for (size_t at = 0; at == 0 || at < bytes; at += PIECE) {
		size_t left = bytes - at, n = left < PIECE ? left : PIECE;
		size_t sent = n ? n : 1;

		if (n > 0)
			memcpy(c->host + (size_t)c->base.rank * n, (const unsigned char *)mine + at,
			       n);
		if (!put_piece(c, lane, c->host, c->staging, sent, c->gathered, error) ||
		    !wait_piece(c, c->gathered, error))
			return false;
		for (size_t r = 0; n > 0 && r < (size_t)c->base.world; r++)
			memcpy(to + r * bytes + at, c->host + r * n, n);
	}
	c->base.waited_ns = waited + clock_ns() - begin;
	return true;
}

static bool gather_by_control(struct nccl_comm *c, const void *mine, void *all, size_t bytes,
			      const char *what, struct train_error *error)
{
	struct communicator *control = c->control;
	int64_t waited = control->waited_ns;
	bool done = control->calls->all_gather(control, mine, all, bytes, what, error);

	c->base.waited_ns += control->waited_ns - waited;
	return done || nccl_failed(c, error);
}

bool nccl_all_gather(struct communicator *comm, const void *mine, void *all, size_t bytes,
		     const char *what, struct train_error *error)
{
	const struct call call = call_of(CALL_GATHER, 0, bytes, what);
	struct nccl_comm *c = nccl_comm_of(comm);
	struct nccl_lane *lane;

	c->doing = call;
	if (!nccl_good(c, error) || !nccl_not_recorded(c, "waits", error))
		return false;
	if (c->control)
		return gather_by_control(c, mine, all, bytes, what, error);
	lane = nccl_begin_beside(c, NCCL_UP, &call, error);
	return lane && gather_on_device(c, lane, mine, all, bytes, error);
}

bool nccl_gather_begin(struct communicator *comm, const void *mine, size_t bytes, const char *what,
		       struct train_error *error)
{
	const struct call call = call_of(CALL_GATHER, 0, bytes, what);
	struct nccl_comm *c = nccl_comm_of(comm);
	struct nccl_later *later = &c->later;
	struct nccl_lane *lane;

	c->doing = call;
	if (!nccl_good(c, error) || !nccl_not_recorded(c, "copies what it takes", error))
		return false;
	later->bytes = bytes;
	later->what = what;
	if (c->control) {
		memcpy(later->mine, mine, bytes);
		return true;
	}
	lane = nccl_begin_beside(c, NCCL_UP, &call, error);
	if (!lane)
		return false;
	memcpy(later->host + (size_t)comm->rank * bytes, mine, bytes);
	return put_piece(c, lane, later->host, later->staging, bytes, later->event, error);
}

bool nccl_gather_end(struct communicator *comm, void *all, struct train_error *error)
{
	struct nccl_comm *c = nccl_comm_of(comm);
	struct nccl_later *later = &c->later;
	int64_t begin = clock_ns();

	c->doing = call_of(CALL_GATHER, 0, later->bytes, later->what);
	if (!nccl_good(c, error))
		return false;
	if (c->control)
		return gather_by_control(c, later->mine, all, later->bytes, later->what, error);
	if (!wait_piece(c, later->event, error))
		return false;
	memcpy(all, later->host, later->bytes * (size_t)comm->world);
	c->base.waited_ns += clock_ns() - begin;
	return true;
}
