/* SPDX-License-Identifier: MIT */
/* What the real NCCL waits for when a communicator ends, for ever if nothing else ends the wait. */
#include "config.h"

#include "fake_cuda_private.h"

#ifdef HAVE_NCCL
#include "fake_nccl.h"

static bool is_message(const struct work *work)
{
	const struct nccl_item *item = (const void *)work->data;

	return item->ops[0].kind >= NCCL_SEND;
}

/* The first work on the device that is of `comm` or, if that is NULL, of any communicator that is
 * not aborted and not `but`. With `sums` messages do not count. */
static const struct work *pending(int device, const struct ncclComm *comm,
				  const struct ncclComm *but, bool sums)
{
	for (struct object *object = fake.objects; object; object = object->next) {
		const struct CUstream_st *stream = (const void *)object;

		if (object->kind != OBJECT_STREAM || !object->alive || object->device != device)
			continue;
		for (const struct work *work = stream->first; work; work = work->next) {
			const struct ncclComm *of = nccl_whose(work);

			if (of && of != but && (comm ? of == comm : !of->aborted) &&
			    !(sums && is_message(work)))
				return work;
		}
	}
	return NULL;
}

bool nccl_pending(const struct ncclComm *comm)
{
	int device = comm->object.device;

	return fake.devices[device].broken == cudaSuccess && pending(device, comm, NULL, false);
}

static void check_others(int device, const struct ncclComm *but, bool sums, const char *call)
{
	const struct work *work;

	while (stream_step())
		;
	work = fake.devices[device].broken == cudaSuccess ? pending(device, NULL, but, sums) : NULL;
	if (work)
		fault(0, "%s: it waits for device %d, where %s waits for other ranks", call, device,
		      work->what);
}

void nccl_check_device(int device, const char *call)
{
	check_others(device, NULL, false, call);
}

void nccl_check_sums(int device, const char *call)
{
	check_others(device, NULL, true, call);
}

static bool graph_has(const struct CUgraph_st *graph, const struct ncclComm *comm)
{
	for (int i = 0; i < graph->count; i++)
		if (nccl_whose(graph->nodes[i]) == comm)
			return true;
	return false;
}

/* All graphs that have calls of the communicator must be destroyed, aborted or not. */
void nccl_check_graphs(const struct ncclComm *comm, const char *call)
{
	for (struct object *object = fake.objects; object; object = object->next) {
		const struct CUgraph_st *graph = NULL;

		if (object->alive && object->kind == OBJECT_GRAPH)
			graph = (const void *)object;
		else if (object->alive && object->kind == OBJECT_EXECUTABLE)
			graph = ((const struct CUgraphExec_st *)(const void *)object)->graph;
		if (graph && graph_has(graph, comm))
			fault(0, "%s: it waits for a graph that captured calls of the communicator",
			      call);
	}
}

/* It also frees memory of the device, which waits until nothing runs there. */
void nccl_check_end(const struct ncclComm *comm, const char *call)
{
	nccl_check_graphs(comm, call);
	check_others(comm->object.device, comm, false, call);
}

#else

void nccl_check_device(int device, const char *call)
{
}

void nccl_check_sums(int device, const char *call)
{
}

#endif
