/* SPDX-License-Identifier: MIT */
/* Capture of streams into graphs, what is not allowed meanwhile, and the graphs' runs. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fake_cuda_private.h"

void capture_spoil(struct CUgraph_st *graph)
{
	graph->invalid = true;
}

cudaError_t capture_refuses(void)
{
	cudaError_t status = cudaSuccess;

	for (struct object *object = fake.objects; object; object = object->next) {
		struct CUgraph_st *graph = (struct CUgraph_st *)(void *)object;

		if (object->kind != OBJECT_GRAPH || !object->alive || !graph->open ||
		    !pthread_equal(graph->owner, pthread_self()))
			continue;
		capture_spoil(graph);
		status = cudaErrorStreamCaptureUnsupported;
	}
	return status;
}

/* Memory of the device may decide what else work touches: that is checked when it runs. */
static void check_pair(const struct work *a, const struct work *b, const struct touches *of_a,
		       const struct touches *of_b)
{
	if (b->clock.at[a->line] >= a->tick)
		return;
	for (int i = 0; i < of_a->count; i++) {
		const struct touch *x = &of_a->list[i];
		const char *from = x->memory, *end = from + x->bytes;

		for (int k = 0; k < of_b->count; k++) {
			const struct touch *y = &of_b->list[k];
			const char *other = y->memory;

			if ((x->write || y->write) && from < other + y->bytes && other < end)
				fault(0,
				      "in a capture, %s %s memory that %s %s on another stream, "
				      "with nothing between them",
				      b->what, y->write ? "writes" : "reads", a->what,
				      x->write ? "writes" : "reads");
		}
	}
}

static void check_order(const struct CUgraph_st *graph)
{
	struct touches *touches = calloc((size_t)graph->count + 1, sizeof(*touches));

	if (!touches)
		abort();
	for (int i = 0; i < graph->count; i++) {
		if (graph->nodes[i]->kind->list)
			graph->nodes[i]->kind->list(graph->nodes[i], &touches[i]);
		for (int k = 0; k < i; k++)
			check_pair(graph->nodes[k], graph->nodes[i], &touches[k], &touches[i]);
	}
	for (int i = 0; i < graph->count; i++)
		free(touches[i].list);
	free(touches);
}

cudaError_t capture_put(cudaStream_t stream, struct work *work)
{
	struct CUgraph_st *graph = stream->graph;
	int room = graph->room ? 2 * graph->room : 64;
	struct work **more;

	if (graph->invalid) {
		free(work);
		return cudaErrorStreamCaptureInvalidated;
	}
	if (graph->count == graph->room) {
		more = realloc(graph->nodes, (size_t)room * sizeof(struct work *));
		if (!more)
			abort();
		graph->nodes = more;
		graph->room = room;
	}
	stream->graph_clock.at[stream->line] = ++stream->graph_tick;
	work->line = stream->line;
	work->tick = stream->graph_tick;
	work->clock = stream->graph_clock;
	graph->nodes[graph->count++] = work;
	return cudaSuccess;
}

bool capture_record(cudaEvent_t event, cudaStream_t stream, cudaError_t *status)
{
	struct CUgraph_st *graph = stream->graph;

	if (!graph)
		return false;
	*status = graph->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
	event->graph = graph;
	event->clock = stream->graph_clock;
	return true;
}

bool capture_wait(cudaStream_t stream, cudaEvent_t event, cudaError_t *status)
{
	struct CUgraph_st *from = event->graph, *to = stream->graph;

	*status = cudaSuccess;
	if (!from && !to)
		return false;
	if ((from && from->invalid) || (to && to->invalid)) {
		*status = cudaErrorStreamCaptureInvalidated;
	} else if (!from) {
		capture_spoil(to);
		*status = cudaErrorStreamCaptureIsolation;
	} else if (!from->open) {
		*status = cudaErrorCapturedEvent;
	} else if (to && to != from) {
		capture_spoil(from);
		capture_spoil(to);
		*status = cudaErrorStreamCaptureMerge;
	} else {
		if (!to) {
			stream->graph = from;
			/* The wait counts as work, which the origin has to join. */
			stream->graph_tick = 1;
			stream->graph_clock = (struct clock){.at = {0}};
			stream->graph_clock.at[stream->line] = 1;
		}
		clock_join(&stream->graph_clock, &event->clock);
	}
	return true;
}

cudaError_t fake_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	struct CUgraph_st *graph;

	stream = stream_get(stream, "cudaStreamBeginCapture");
	if (!stream)
		return cudaErrorInvalidResourceHandle;
	if (stream->graph)
		return cudaErrorIllegalState;
	if (mode != cudaStreamCaptureModeThreadLocal)
		return (cudaError_t)fault(cudaErrorInvalidValue,
					  "cudaStreamBeginCapture: other threads' calls would "
					  "spoil a capture that is not thread-local");
	graph = object_new(OBJECT_GRAPH, sizeof(*graph));
	graph->origin = stream;
	graph->owner = pthread_self();
	graph->open = true;
	stream->graph = graph;
	stream->graph_tick = 0;
	stream->graph_clock = (struct clock){.at = {0}};
	return cudaSuccess;
}

/* Streams leave the capture. Returns whether the origin has joined all that was put on them. */
static bool leave(struct CUgraph_st *graph)
{
	bool joined = true;

	for (struct object *object = fake.objects; object; object = object->next) {
		struct CUstream_st *stream = (struct CUstream_st *)(void *)object;

		if (object->kind != OBJECT_STREAM || stream->graph != graph)
			continue;
		if (graph->origin->graph_clock.at[stream->line] < stream->graph_tick)
			joined = false;
		stream->graph = NULL;
	}
	graph->open = false;
	return joined;
}

cudaError_t fake_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *to)
{
	struct CUgraph_st *graph;
	cudaError_t status = cudaSuccess;

	stream = stream_get(stream, "cudaStreamEndCapture");
	if (!stream || !to)
		return cudaErrorInvalidResourceHandle;
	*to = NULL;
	graph = stream->graph;
	if (!graph)
		return cudaErrorIllegalState;
	if (!pthread_equal(graph->owner, pthread_self())) {
		capture_spoil(graph);
		return cudaErrorStreamCaptureWrongThread;
	}
	if (graph->origin != stream) {
		capture_spoil(graph);
		return cudaErrorStreamCaptureUnmatched;
	}
	if (!leave(graph))
		status = cudaErrorStreamCaptureUnjoined;
	if (graph->invalid)
		status = cudaErrorStreamCaptureInvalidated;
	if (status != cudaSuccess) {
		object_end(graph);
		return status;
	}
	check_order(graph);
	*to = graph;
	return cudaSuccess;
}

cudaError_t fake_cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
	stream = stream_get(stream, "cudaStreamIsCapturing");
	if (!stream)
		return cudaErrorInvalidResourceHandle;
	*status = !stream->graph           ? cudaStreamCaptureStatusNone
		  : stream->graph->invalid ? cudaStreamCaptureStatusInvalidated
					   : cudaStreamCaptureStatusActive;
	return cudaSuccess;
}

cudaError_t fake_cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
				      unsigned long long flags)
{
	struct CUgraphExec_st *made;
	cudaError_t status = capture_refuses();

	graph = object_get(OBJECT_GRAPH, graph, "cudaGraphInstantiate");
	if (!graph || graph->open ||
	    (flags & ~(unsigned long long)cudaGraphInstantiateFlagUseNodePriority))
		return cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = device_state(device_current());
	if (status != cudaSuccess)
		return status;
	made = object_new(OBJECT_EXECUTABLE, sizeof(*made));
	made->graph = graph; /* kept until the end, whether destroyed or not */
	*executable = made;
	return cudaSuccess;
}

cudaError_t fake_cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream)
{
	executable = object_get(OBJECT_EXECUTABLE, executable, "cudaGraphUpload");
	stream = stream_get(stream, "cudaGraphUpload");
	if (!executable || !stream)
		return cudaErrorInvalidValue;
	if (stream->graph) {
		capture_spoil(stream->graph);
		return cudaErrorStreamCaptureUnsupported;
	}
	return device_state(stream->object.device);
}

cudaError_t fake_cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
	struct CUgraph_st *graph;
	cudaError_t status = cudaSuccess;

	executable = object_get(OBJECT_EXECUTABLE, executable, "cudaGraphLaunch");
	stream = stream_get(stream, "cudaGraphLaunch");
	if (!executable || !stream)
		return cudaErrorInvalidValue;
	if (stream->graph) {
		capture_spoil(stream->graph);
		return cudaErrorStreamCaptureUnsupported;
	}
	graph = executable->graph;
	fake.launched = graph;
	/* In the order of capture, which is one of those that the graph allows. */
	for (int i = 0; i < graph->count && status == cudaSuccess; i++) {
		const struct work *node = graph->nodes[i];

		if (node->device != stream->object.device)
			return (cudaError_t)fault(cudaErrorInvalidValue,
						  "cudaGraphLaunch: %s was captured on device %d "
						  "and is launched on device %d",
						  node->what, node->device, stream->object.device);
		status = stream_put(
			stream, work_new(node->kind, node->what, node->data, node->bytes), false);
	}
	return status;
}

static void count_node(struct fake_cuda_nodes *nodes, int *count, const char *call)
{
	int i = 0;

	while (i < *count && strcmp(nodes[i].call, call) != 0)
		i++;
	if (i == FAKE_CUDA_NODES)
		abort();
	if (i == *count)
		nodes[(*count)++] = (struct fake_cuda_nodes){call, 0};
	nodes[i].count++;
}

/* The nodes of the longest chain that ends with the index-th node. */
static int chain_to(const struct CUgraph_st *graph, const int *chains, int index)
{
	const struct work *node = graph->nodes[index];
	int longest = 0;

	for (int i = 0; i < index; i++)
		if (node->clock.at[graph->nodes[i]->line] >= graph->nodes[i]->tick &&
		    chains[i] > longest)
			longest = chains[i];
	return longest + 1;
}

int fake_cuda_nodes(struct fake_cuda_nodes nodes[FAKE_CUDA_NODES], int *chain)
{
	const struct CUgraph_st *graph = fake.launched;
	int count = 0, *chains = graph ? calloc((size_t)graph->count + 1, sizeof(*chains)) : NULL;

	*chain = 0;
	if (graph && !chains)
		abort();
	for (int i = 0; graph && i < graph->count; i++) {
		count_node(nodes, &count, graph->nodes[i]->what);
		chains[i] = chain_to(graph, chains, i);
		if (chains[i] > *chain)
			*chain = chains[i];
	}
	free(chains);
	return count;
}

cudaError_t fake_cudaGraphExecDestroy(cudaGraphExec_t executable)
{
	executable = object_get(OBJECT_EXECUTABLE, executable, "cudaGraphExecDestroy");
	if (!executable)
		return cudaErrorInvalidValue;
	object_end(executable);
	return cudaSuccess;
}

cudaError_t fake_cudaGraphDestroy(cudaGraph_t graph)
{
	graph = object_get(OBJECT_GRAPH, graph, "cudaGraphDestroy");
	if (!graph || graph->open)
		return cudaErrorInvalidValue;
	object_end(graph);
	return cudaSuccess;
}
