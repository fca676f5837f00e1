/* SPDX-License-Identifier: MIT */
/* NCCL's communicators and calls. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda_private.h"

#ifdef HAVE_NCCL
#include "fake_nccl.h"

enum { MAX_OPS = 64 };

static struct nccl_world *worlds;
static unsigned ids;

/* What a thread gathers between ncclGroupStart and ncclGroupEnd. */
static _Thread_local struct group {
	int depth, count, joins, aborts;
	struct nccl_op ops[MAX_OPS];
	struct ncclComm *comms[MAX_OPS], *joined[NCCL_MAX_RANKS], *aborted[NCCL_MAX_RANKS];
	cudaStream_t streams[MAX_OPS];
	const char *calls[MAX_OPS];
} group;

void nccl_close(void)
{
	for (struct nccl_world *next, *world = worlds; world; world = next) {
		next = world->next;
		free(world);
	}
	worlds = NULL;
}

const char *fake_ncclGetErrorString(ncclResult_t result)
{
	switch (result) {
	case ncclSuccess:
		return "no error";
	case ncclUnhandledCudaError:
		return "unhandled cuda error";
	case ncclSystemError:
		return "unhandled system error";
	case ncclInvalidArgument:
		return "invalid argument";
	case ncclInvalidUsage:
		return "invalid usage";
	case ncclRemoteError:
		return "remote process exited or there was a network error";
	case ncclInProgress:
		return "NCCL operation in progress";
	default:
		return "internal error";
	}
}

const char *fake_ncclGetLastError(ncclComm_t comm)
{
	return "";
}

ncclResult_t fake_ncclGetVersion(int *version)
{
	*version = fake.options.nccl ? fake.options.nccl : NCCL_VERSION_CODE;
	return ncclSuccess;
}

ncclResult_t fake_ncclGetUniqueId(ncclUniqueId *id)
{
	const char *place = getenv("NCCL_COMM_ID");

	memset(id, 0, sizeof(*id));
	if (place)
		snprintf(id->internal, sizeof(id->internal), "%s", place);
	else
		snprintf(id->internal, sizeof(id->internal), "pretended %u", ++ids);
	return ncclSuccess;
}

/* The world where ranks with this id meet: one that is not full, or a new one. */
static struct nccl_world *meet(const ncclUniqueId *id, int ranks)
{
	struct nccl_world *world = worlds;

	while (world && (world->joined == world->ranks || memcmp(&world->id, id, sizeof(*id)) != 0))
		world = world->next;
	if (world)
		return world;
	world = calloc(1, sizeof(*world));
	if (!world)
		abort();
	*world = (struct nccl_world){.next = worlds, .id = *id, .ranks = ranks};
	worlds = world;
	return world;
}

static ncclResult_t joined(const struct ncclComm *comm)
{
	if (comm->world->refused)
		return ncclInvalidUsage;
	if (fake.options.elsewhere)
		return ncclSuccess;
	return comm->world->joined < comm->world->ranks ? ncclInProgress : ncclSuccess;
}

static ncclResult_t wait_for_all(const struct ncclComm *comm)
{
	while (joined(comm) == ncclInProgress && !comm->aborted)
		fake_wait();
	return comm->aborted ? ncclInternalError : joined(comm);
}

ncclResult_t fake_ncclCommInitRankConfig(ncclComm_t *to, int ranks, ncclUniqueId id, int rank,
					 ncclConfig_t *config)
{
	struct nccl_world *world;
	struct ncclComm *comm;

	if (!to || ranks < 1 || ranks > NCCL_MAX_RANKS || rank < 0 || rank >= ranks ||
	    (config && config->magic != 0xcafebeef))
		return ncclInvalidArgument;
	if (capture_refuses() != cudaSuccess || device_state(device_current()) != cudaSuccess)
		return ncclUnhandledCudaError;
	world = meet(&id, ranks);
	if (world->ranks != ranks || world->members[rank])
		return (ncclResult_t)fault(
			ncclInvalidUsage,
			"ncclCommInitRankConfig: rank %d of %d, and another came "
			"before it",
			rank, ranks);
	comm = object_new(OBJECT_COMM, sizeof(*comm));
	comm->world = world;
	comm->rank = rank;
	comm->blocking = !config || config->blocking != 0;
	for (int i = 0; i < ranks; i++)
		if (world->members[i] && world->members[i]->object.device == comm->object.device)
			world->refused = true;
	world->members[rank] = comm;
	world->joined++;
	pthread_cond_broadcast(&fake.changed);
	*to = comm;
	if (!comm->blocking)
		return ncclInProgress;
	if (group.depth == 0)
		return wait_for_all(comm);
	group.joined[group.joins++] = comm;
	return ncclSuccess;
}

static struct ncclComm *get(ncclComm_t comm, const char *call)
{
	return object_get(OBJECT_COMM, comm, call);
}

ncclResult_t fake_ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
	comm = get(comm, "ncclCommGetAsyncError");
	if (!comm || !error)
		return ncclInvalidArgument;
	*error = joined(comm);
	if (*error == ncclSuccess && comm->finalized && (stream_step(), nccl_pending(comm)))
		*error = ncclInProgress;
	if (comm->world->aborted && fake.options.remote_errors && comm->finalized)
		*error = ncclRemoteError;
	if (*error != ncclSuccess)
		return ncclSuccess;
	if (comm->world->aborted && fake.options.remote_errors)
		*error = ncclRemoteError;
	else if (comm->broken || fake.devices[comm->object.device].broken)
		*error = ncclUnhandledCudaError;
	comm->async = ncclSuccess;
	return ncclSuccess;
}

ncclResult_t fake_ncclCommFinalize(ncclComm_t comm)
{
	comm = get(comm, "ncclCommFinalize");
	if (!comm)
		return ncclInvalidArgument;
	nccl_check_graphs(comm, "ncclCommFinalize");
	comm->finalized = true;
	comm->async = comm->blocking ? ncclSuccess : ncclInProgress;
	while (comm->blocking && nccl_pending(comm))
		if (!stream_step())
			fake_wait();
	return comm->async;
}

ncclResult_t fake_ncclCommDestroy(ncclComm_t comm)
{
	comm = get(comm, "ncclCommDestroy");
	if (!comm || capture_refuses() != cudaSuccess)
		return ncclInvalidArgument;
	if (comm->async == ncclInProgress)
		fault(0, "ncclCommDestroy: the communicator is in progress, and was not asked");
	nccl_check_end(comm, "ncclCommDestroy");
	object_end(comm);
	return ncclSuccess;
}

static void end_aborted(struct ncclComm *comm)
{
	nccl_check_end(comm, "ncclCommAbort");
	object_end(comm);
}

ncclResult_t fake_ncclCommAbort(ncclComm_t comm)
{
	comm = get(comm, "ncclCommAbort");
	if (!comm)
		return ncclInvalidArgument;
	comm->aborted = comm->world->aborted = true;
	comm->first = NULL;
	pthread_cond_broadcast(&fake.changed);
	if (group.depth == 0)
		end_aborted(comm);
	else
		group.aborted[group.aborts++] = comm;
	return ncclSuccess;
}

/* Checks a call, and puts it on its stream now or at the end of the group. */
static ncclResult_t ask(const struct nccl_op *op, ncclComm_t comm, cudaStream_t stream,
			const char *call)
{
	comm = get(comm, call);
	stream = stream_get(stream, call);
	if (!comm || !stream || nccl_bytes(op->type) == 0 || op->peer < 0 ||
	    op->peer >= comm->world->ranks)
		return ncclInvalidArgument;
	if (stream->object.device != comm->object.device)
		return (ncclResult_t)fault(ncclInvalidArgument,
					   "%s: a stream of device %d for a communicator of "
					   "device %d",
					   call, stream->object.device, comm->object.device);
	if (joined(comm) != ncclSuccess || comm->async == ncclInProgress)
		return (ncclResult_t)fault(ncclInvalidUsage,
					   "%s: the communicator is in progress: ask it with "
					   "ncclCommGetAsyncError first",
					   call);
	if (comm->broken)
		return ncclUnhandledCudaError;
	if (group.depth == 0)
		return nccl_put(comm, op, 1, stream, call);
	if (group.count == MAX_OPS)
		abort();
	group.ops[group.count] = *op;
	group.comms[group.count] = comm;
	group.streams[group.count] = stream;
	group.calls[group.count++] = call;
	return ncclSuccess;
}

ncclResult_t fake_ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
				ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream)
{
	struct nccl_op op = {NCCL_ALL_REDUCE, from, to, count, type, operation, 0};

	if (operation != ncclSum && operation != ncclMax && operation != ncclMin &&
	    operation != ncclAvg)
		return ncclInvalidArgument;
	return ask(&op, comm, stream, "ncclAllReduce");
}

ncclResult_t fake_ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type,
				int root, ncclComm_t comm, cudaStream_t stream)
{
	struct nccl_op op = {NCCL_BROADCAST, from, to, count, type, ncclSum, root};

	return ask(&op, comm, stream, "ncclBroadcast");
}

ncclResult_t fake_ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
				ncclComm_t comm, cudaStream_t stream)
{
	struct nccl_op op = {NCCL_ALL_GATHER, from, to, count, type, ncclSum, 0};

	return ask(&op, comm, stream, "ncclAllGather");
}

ncclResult_t fake_ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
			   ncclComm_t comm, cudaStream_t stream)
{
	struct nccl_op op = {NCCL_SEND, from, NULL, count, type, ncclSum, peer};

	return ask(&op, comm, stream, "ncclSend");
}

ncclResult_t fake_ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
			   cudaStream_t stream)
{
	struct nccl_op op = {NCCL_RECEIVE, NULL, to, count, type, ncclSum, peer};

	return ask(&op, comm, stream, "ncclRecv");
}

ncclResult_t fake_ncclGroupStart(void)
{
	group.depth++;
	return ncclSuccess;
}

/* Puts the group's calls on the communicator of call `first`, as one. */
static ncclResult_t put_group(int first)
{
	struct ncclComm *comm = group.comms[first];
	struct nccl_op ops[MAX_OPS];
	int count = 0;

	for (int i = first; i < group.count; i++) {
		if (group.comms[i] != comm)
			continue;
		if (group.streams[i] != group.streams[first])
			fault(0, "ncclGroupEnd: one communicator on two streams in one group");
		ops[count++] = group.ops[i];
		group.comms[i] = NULL;
	}
	return nccl_put(comm, ops, count, group.streams[first], group.calls[first]);
}

ncclResult_t fake_ncclGroupEnd(void)
{
	ncclResult_t result = ncclSuccess, of;

	if (group.depth == 0)
		return ncclInvalidUsage;
	if (--group.depth > 0)
		return ncclSuccess;
	for (int i = 0; i < group.joins; i++) {
		of = wait_for_all(group.joined[i]);
		result = result == ncclSuccess ? of : result;
	}
	for (int i = 0; i < group.count; i++) {
		of = group.comms[i] ? put_group(i) : ncclSuccess;
		result = result == ncclSuccess ? of : result;
	}
	for (int i = 0; i < group.aborts; i++)
		end_aborted(group.aborted[i]);
	group.count = group.joins = group.aborts = 0;
	return result;
}

#else

void nccl_close(void)
{
}

#endif
