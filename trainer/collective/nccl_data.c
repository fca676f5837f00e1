/* SPDX-License-Identifier: MIT */
/* Calls of all ranks, on the first lane's stream. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "collective/nccl_comm.h"

static bool capturing(struct nccl_comm *c, cudaStream_t stream,
		      enum cudaStreamCaptureStatus *status, struct train_error *error)
{
	return NCCL_DO(c, RUNTIME, cudaStreamIsCapturing, (stream, status), error);
}

static bool follow(struct nccl_comm *c, struct nccl_lane *lane, struct train_error *error)
{
	if (lane->forked &&
	    !NCCL_DO(c, RUNTIME, cudaStreamWaitEvent, (lane->stream, c->forked, 0), error))
		return false;
	lane->forked = false;
	return true;
}

struct nccl_lane *nccl_begin_beside(struct nccl_comm *c, int index, const struct call *call,
				    struct train_error *error)
{
	struct nccl_lane *lane = &c->lanes[index];

	c->doing = *call;
	if (!nccl_good(c, error) || (c->reopen && !c->open_again(c, error)))
		return NULL;
	c->doing = *call;
	if (!NCCL_DO(c, RUNTIME, cudaSetDevice, (c->device->ordinal), error) ||
	    !nccl_settle(c, lane, error))
		return NULL;
	return lane;
}

struct nccl_lane *nccl_begin(struct nccl_comm *c, int index, const struct call *call,
			     struct train_error *error)
{
	struct nccl_lane *lane = nccl_begin_beside(c, index, call, error);

	return lane && (call->bytes == 0 || follow(c, lane, error)) ? lane : NULL;
}

bool nccl_end(struct nccl_comm *c, struct nccl_lane *lane, struct train_error *error)
{
	if (!NCCL_DO(c, RUNTIME, cudaEventRecord, (lane->done, lane->stream), error))
		return false;
	lane->fresh = true;
	return true;
}

/* The next call reports a failure here. */
int64_t nccl_mark(struct communicator *comm)
{
	struct nccl_comm *c = nccl_comm_of(comm);
	struct nccl_lane *lane = &c->lanes[NCCL_UP];
	struct train_error error = {.status = TRAIN_OK};

	if (!nccl_good(c, &error) ||
	    !NCCL_DO(c, RUNTIME, cudaSetDevice, (c->device->ordinal), &error) ||
	    !nccl_settle(c, lane, &error) || !follow(c, lane, &error))
		return 0;
	return cuda_mark_on(c->device, lane->stream);
}

/* A stream without work stays out of a capture. */
bool nccl_fork(struct communicator *comm, struct train_error *error)
{
	struct nccl_comm *c = nccl_comm_of(comm);

	if (!nccl_good(c, error) ||
	    !NCCL_DO(c, RUNTIME, cudaSetDevice, (c->device->ordinal), error) ||
	    !NCCL_DO(c, RUNTIME, cudaEventRecord, (c->forked, c->device->stream), error))
		return false;
	for (int i = 0; i < c->lane_count; i++)
		c->lanes[i].forked = true;
	return true;
}

bool nccl_join(struct communicator *comm, struct train_error *error)
{
	struct nccl_comm *c = nccl_comm_of(comm);

	if (!nccl_good(c, error))
		return false;
	for (int i = 0; i < c->lane_count; i++) {
		struct nccl_lane *lane = &c->lanes[i];

		if (lane->fresh && !NCCL_DO(c, RUNTIME, cudaStreamWaitEvent,
					    (c->device->stream, lane->done, 0), error))
			return false;
		lane->fresh = false;
	}
	return true;
}

bool nccl_not_recorded(struct nccl_comm *c, const char *why, struct train_error *error)
{
	enum cudaStreamCaptureStatus status;

	if (!capturing(c, c->device->stream, &status, error))
		return false;
	return status == cudaStreamCaptureStatusNone ||
	       nccl_refuse(c, error, "it %s, which a step that is recorded cannot", why);
}

bool nccl_room(struct nccl_comm *c, struct nccl_room *room, size_t bytes, const char *what,
	       struct train_error *error)
{
	struct device *device = &c->device->base;
	size_t least = 2 * room->bytes;
	void *more;

	if (bytes <= room->bytes)
		return true;
	if (!nccl_not_recorded(c, "takes memory", error))
		return false;
	bytes = bytes > least ? bytes : least;
	more = device->backend->allocate(device, bytes, what, error);
	if (!more)
		return nccl_failed(c, error);
	if (room->memory)
		room->old[room->olds++] = room->memory;
	room->memory = more;
	room->bytes = bytes;
	return true;
}

void nccl_room_free(struct nccl_comm *c, struct nccl_room *room)
{
	struct device *device = &c->device->base;

	while (room->olds > 0)
		device->backend->release(device, room->old[--room->olds]);
	device->backend->release(device, room->memory);
}

/* After a call was put on a stream that is recorded. */
static bool still_recorded(struct nccl_comm *c, struct nccl_lane *lane, struct train_error *error)
{
	enum cudaStreamCaptureStatus status;

	return capturing(c, lane->stream, &status, error) &&
	       (status == cudaStreamCaptureStatusActive ||
		nccl_refuse(c, error, "it ends the recording of the step"));
}

/* Waits until a call, which returned `status`, is on the lane's stream, which is `recorded` or not.
 * After a failure no call may return, so nothing is called before it is reported. */
static bool put(struct nccl_comm *c, struct nccl_lane *lane, enum cudaStreamCaptureStatus recorded,
		ncclResult_t status, const char *call, struct train_error *error)
{
	bool is_recorded = recorded != cudaStreamCaptureStatusNone;

	if (nccl_asked(c, lane, status, call, error) && nccl_settle(c, lane, error) &&
	    (!is_recorded || still_recorded(c, lane, error)))
		return true;
	/* A lane that is still busy was left for another reason: a rank failed, or is late. */
	c->unrecorded = is_recorded && !lane->busy;
	return false;
}

/* Puts a call on the lane, unless it has nothing to send. */
#define ON_LANE(c, lane, size, call, ...) \
	((size) == 0 || \
	 (capturing(c, (lane)->stream, &recorded, error) && \
	  put(c, lane, recorded, (c)->calls->call(__VA_ARGS__, (lane)->comm, (lane)->stream), \
	      #call, error) && \
	  nccl_end(c, lane, error)))

bool nccl_all_reduce(struct communicator *comm, float *values, int64_t count, const char *what,
		     struct train_error *error)
{
	const struct call call = call_of(CALL_SUM, 0, (size_t)count * sizeof(*values), what);
	struct nccl_comm *c = nccl_comm_of(comm);
	struct nccl_lane *lane = nccl_begin(c, NCCL_UP, &call, error);
	enum cudaStreamCaptureStatus recorded;

	return lane && ON_LANE(c, lane, count, ncclAllReduce, values, values, (size_t)count,
			       ncclFloat32, ncclSum);
}

bool nccl_broadcast(struct communicator *comm, void *values, size_t bytes, int root,
		    const char *what, struct train_error *error)
{
	const struct call call = call_of(CALL_BROADCAST, root, bytes, what);
	struct nccl_comm *c = nccl_comm_of(comm);
	struct nccl_lane *lane = nccl_begin(c, NCCL_UP, &call, error);
	enum cudaStreamCaptureStatus recorded;

	return lane &&
	       ON_LANE(c, lane, bytes, ncclBroadcast, values, values, bytes, ncclChar, root);
}

bool nccl_all_gather_values(struct communicator *comm, const void *mine, void *all, size_t bytes,
			    const char *what, struct train_error *error)
{
	const struct call call = call_of(CALL_GATHER, 0, bytes, what);
	struct nccl_comm *c = nccl_comm_of(comm);
	struct nccl_lane *lane = nccl_begin(c, NCCL_UP, &call, error);
	enum cudaStreamCaptureStatus recorded;

	return lane && ON_LANE(c, lane, bytes, ncclAllGather, mine, all, bytes, ncclChar);
}
