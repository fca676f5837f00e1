/* SPDX-License-Identifier: MIT */
/*
 * What ranks do together. A rank's work waits at the head of its stream until the work of all ranks
 * is at the head of theirs. The thread that notices this does the work for all of them. Sums are
 * taken in the order of ranks, in float.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "fake_cuda_private.h"

#ifdef HAVE_NCCL
#include "fake_nccl.h"
#include "fake_values.h"

size_t nccl_bytes(ncclDataType_t type)
{
	switch (type) {
	case ncclInt8:
	case ncclUint8:
		return 1;
	case ncclFloat16:
	case ncclBfloat16:
		return 2;
	case ncclInt32:
	case ncclUint32:
	case ncclFloat32:
		return 4;
	case ncclInt64:
	case ncclUint64:
	case ncclFloat64:
		return 8;
	default:
		return 0;
	}
}

static struct nccl_item *item_of(struct ncclComm *comm)
{
	return (void *)comm->first->data;
}

static bool collective(const struct nccl_op *op)
{
	return op->kind < NCCL_SEND;
}

static int collectives(const struct nccl_item *item)
{
	int count = 0;

	for (int i = 0; i < item->count; i++)
		count += collective(&item->ops[i]);
	return count;
}

/* The index-th collective of an item; the index-th message of a kind to or from a rank, or NULL. */
static const struct nccl_op *collective_at(const struct nccl_item *item, int index)
{
	for (int i = 0; i < item->count; i++)
		if (collective(&item->ops[i]) && index-- == 0)
			return &item->ops[i];
	return NULL;
}

static const struct nccl_op *message_at(const struct nccl_item *item, enum nccl_kind kind, int peer,
					int index)
{
	for (int i = 0; i < item->count; i++)
		if (item->ops[i].kind == kind && item->ops[i].peer == peer && index-- == 0)
			return &item->ops[i];
	return NULL;
}

/* How many messages of its kind to or from its peer come before it. */
static int index_of(const struct nccl_item *item, const struct nccl_op *op)
{
	int index = 0;

	for (const struct nccl_op *i = item->ops; i < op; i++)
		index += i->kind == op->kind && i->peer == op->peer;
	return index;
}

/* Whether the ranks in `here` have all the calls that this rank's item needs. */
static bool satisfied(struct nccl_world *world, int rank, const bool *here)
{
	const struct nccl_item *item = item_of(world->members[rank]);
	int all = collectives(item);

	for (int i = 0; all > 0 && i < world->ranks; i++)
		if (!here[i] || collectives(item_of(world->members[i])) != all)
			return false;
	for (int i = 0; i < item->count; i++) {
		const struct nccl_op *op = &item->ops[i];

		if (!collective(op) &&
		    (!here[op->peer] ||
		     !message_at(item_of(world->members[op->peer]),
				 op->kind == NCCL_SEND ? NCCL_RECEIVE : NCCL_SEND, rank,
				 index_of(item, op))))
			return false;
	}
	return true;
}

static double number_get(ncclDataType_t type, const void *values, size_t i)
{
	switch (type) {
	case ncclFloat64:
		return ((const double *)values)[i];
	case ncclInt32:
		return ((const int32_t *)values)[i];
	case ncclInt64:
		return (double)((const int64_t *)values)[i];
	case ncclBfloat16:
		return stored_get(STORED_BF16, values, i);
	case ncclFloat16:
		return stored_get(STORED_FP16, values, i);
	default:
		return stored_get(STORED_FLOAT, values, i);
	}
}

static void number_set(ncclDataType_t type, void *values, size_t i, double x)
{
	switch (type) {
	case ncclFloat64:
		((double *)values)[i] = x;
		break;
	case ncclInt32:
		((int32_t *)values)[i] = (int32_t)x;
		break;
	case ncclInt64:
		((int64_t *)values)[i] = (int64_t)x;
		break;
	case ncclBfloat16:
		stored_set(STORED_BF16, values, i, (float)x);
		break;
	case ncclFloat16:
		stored_set(STORED_FP16, values, i, (float)x);
		break;
	default:
		stored_set(STORED_FLOAT, values, i, (float)x);
	}
}

static double combine(ncclDataType_t type, ncclRedOp_t operation, double a, double b)
{
	if (operation == ncclMax)
		return a > b ? a : b;
	if (operation == ncclMin)
		return a < b ? a : b;
	return type == ncclFloat64 || type == ncclInt64 || type == ncclInt32
		       ? a + b
		       : (double)((float)a + (float)b);
}

static void all_reduce(struct nccl_world *world, const struct nccl_op **ops)
{
	const struct nccl_op *op = ops[0];

	for (size_t i = 0; i < op->count; i++) {
		double x = number_get(op->type, op->from, i);

		for (int rank = 1; rank < world->ranks; rank++)
			x = combine(op->type, op->operation, x,
				    number_get(op->type, ops[rank]->from, i));
		if (op->operation == ncclAvg)
			x = (double)((float)x / (float)world->ranks);
		for (int rank = 0; rank < world->ranks; rank++)
			number_set(op->type, ops[rank]->to, i, x);
	}
}

static void all_gather(struct nccl_world *world, const struct nccl_op **ops)
{
	size_t bytes = ops[0]->count * nccl_bytes(ops[0]->type);

	for (int from = 0; from < world->ranks; from++)
		for (int to = 0; to < world->ranks; to++)
			memmove((char *)ops[to]->to + (size_t)from * bytes, ops[from]->from, bytes);
}

static void together(struct nccl_world *world, int index)
{
	const struct nccl_op *ops[NCCL_MAX_RANKS] = {NULL}, *op;

	for (int i = 0; i < world->ranks; i++) {
		ops[i] = collective_at(item_of(world->members[i]), index);
		op = ops[i];
		if (op->kind != ops[0]->kind || op->count != ops[0]->count ||
		    op->type != ops[0]->type || op->operation != ops[0]->operation ||
		    op->peer != ops[0]->peer) {
			fault(0,
			      "NCCL: rank %d does not make rank 0's call: kinds %d and %d, "
			      "counts %zu and %zu",
			      i, (int)op->kind, (int)ops[0]->kind, op->count, ops[0]->count);
			return;
		}
	}
	op = ops[0];
	if (op->kind == NCCL_ALL_REDUCE)
		all_reduce(world, ops);
	else if (op->kind == NCCL_ALL_GATHER)
		all_gather(world, ops);
	else
		for (int i = 0; i < world->ranks; i++)
			memmove(ops[i]->to, ops[op->peer]->from, op->count * nccl_bytes(op->type));
}

static void deliver(struct nccl_world *world, int rank)
{
	const struct nccl_item *item = item_of(world->members[rank]);

	for (int i = 0; i < item->count; i++) {
		const struct nccl_op *to, *from = &item->ops[i];

		if (from->kind != NCCL_SEND)
			continue;
		to = message_at(item_of(world->members[from->peer]), NCCL_RECEIVE, rank,
				index_of(item, from));
		if (to->count != from->count || to->type != from->type)
			fault(0, "NCCL: rank %d sends %zu values to rank %d, which takes %zu", rank,
			      from->count, from->peer, to->count);
		else
			memmove(to->to, from->from, to->count * nccl_bytes(to->type));
	}
}

/* A call that a graph launches must meet calls of graphs that were captured together with it. */
static void check_captured(struct nccl_world *world, const bool *here)
{
	const struct nccl_item *first = NULL;

	for (int i = 0; i < world->ranks; i++) {
		const struct nccl_item *item = here[i] ? item_of(world->members[i]) : NULL;

		if (item && !first)
			first = item;
		/* Two ranks capture a message, and the others do not know of it. */
		if (item && (collectives(item) > 0 ? item->captured != first->captured
						   : !item->captured != !first->captured))
			fault(0,
			      "NCCL: rank %d's call is of capture %d, and rank %d's is of %d (0: "
			      "none)",
			      i, item->captured, first->comm->rank, first->captured);
	}
}

/* Does all that can be done with the ranks that are there. */
static void match(struct nccl_world *world)
{
	bool here[NCCL_MAX_RANKS], changed = true;
	int first = -1;

	for (int i = 0; i < world->ranks; i++)
		here[i] = world->members[i] && world->members[i]->first &&
			  !item_of(world->members[i])->done;
	while (changed) {
		changed = false;
		for (int i = 0; i < world->ranks; i++)
			if (here[i] && !satisfied(world, i, here)) {
				here[i] = false;
				changed = true;
			}
	}
	for (int i = world->ranks - 1; i >= 0; i--)
		first = here[i] ? i : first;
	if (first < 0)
		return;
	check_captured(world, here);
	for (int i = 0; i < collectives(item_of(world->members[first])); i++)
		together(world, i);
	for (int i = 0; i < world->ranks; i++)
		if (here[i])
			deliver(world, i);
	for (int i = 0; i < world->ranks; i++)
		if (here[i])
			item_of(world->members[i])->done = true;
}

static bool item_ready(struct work *work)
{
	struct nccl_item *item = (void *)work->data;
	struct ncclComm *comm = item->comm;

	if (comm->aborted || fake.devices[work->device].broken)
		return true;
	if (!comm->object.alive) {
		fault(0, "%s: its communicator was destroyed before it was done", work->what);
		return true;
	}
	/* Calls of a communicator run in their order, on whatever streams they are. */
	if (item->turn != comm->run + 1)
		return false;
	comm->first = work;
	if (!item->done)
		match(comm->world);
	return item->done;
}

static void item_run(struct work *work)
{
	struct nccl_item *item = (void *)work->data;

	if (item->comm->first == work)
		item->comm->first = NULL;
	item->comm->run++;
}

static void item_put(struct work *work)
{
	struct nccl_item *item = (void *)work->data;

	item->turn = ++item->comm->put;
}

static void item_list(const struct work *work, struct touches *touches)
{
	const struct nccl_item *item = (const void *)work->data;

	for (int i = 0; i < item->count; i++) {
		const struct nccl_op *op = &item->ops[i];
		size_t value = nccl_bytes(op->type), bytes = op->count * value;
		size_t all = op->kind == NCCL_ALL_GATHER ? bytes * (size_t)item->comm->world->ranks
							 : bytes;

		if (op->from && (op->kind != NCCL_BROADCAST || op->peer == item->comm->rank))
			touch(touches,
			      &(struct touch){op->from, bytes, value, work->device, false});
		if (op->kind != NCCL_SEND)
			touch(touches, &(struct touch){op->to, all, value, work->device, true});
	}
}

static const struct work_kind item_kind = {
	.name = "NCCL", .list = item_list, .run = item_run, .ready = item_ready, .put = item_put};

struct ncclComm *nccl_whose(const struct work *work)
{
	const struct nccl_item *item = (const void *)work->data;

	return work->kind == &item_kind ? item->comm : NULL;
}

/* A captured call that is not taken. */
static ncclResult_t refuse(struct ncclComm *comm, cudaStream_t stream)
{
	if (fake.options.captured == FAKE_REFUSES)
		return ncclInvalidUsage;
	if (fake.options.captured == FAKE_BREAKS) {
		comm->broken = true;
		return ncclUnhandledCudaError;
	}
	capture_spoil(stream->graph);
	comm->async = ncclInProgress;
	return ncclInProgress;
}

static bool refuses(const struct ncclComm *comm, const struct CUstream_st *stream)
{
	return stream->graph && !comm->blocking && fake.options.captured != FAKE_CAPTURES &&
	       comm->rank == fake.options.captured_rank &&
	       comm->captures >= fake.options.captured_after;
}

ncclResult_t nccl_put(struct ncclComm *comm, const struct nccl_op *ops, int count,
		      cudaStream_t stream, const char *call)
{
	size_t bytes = sizeof(struct nccl_item) + (size_t)count * sizeof(*ops);
	struct nccl_item *item;
	cudaError_t status;

	if (refuses(comm, stream))
		return refuse(comm, stream);
	item = calloc(1, bytes);
	if (!item)
		abort();
	item->comm = comm;
	item->count = count;
	item->captured = stream->graph ? ++comm->captures : 0;
	memcpy(item->ops, ops, (size_t)count * sizeof(*ops));
	status = stream_put(stream, work_new(&item_kind, call, item, bytes), false);
	free(item);
	if (status != cudaSuccess)
		return ncclUnhandledCudaError;
	/* The first call connects, which takes its time. */
	if (comm->blocking || comm->asked_once)
		return ncclSuccess;
	comm->asked_once = true;
	comm->async = ncclInProgress;
	return ncclInProgress;
}

#endif
