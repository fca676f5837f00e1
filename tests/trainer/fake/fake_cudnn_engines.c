/* SPDX-License-Identifier: MIT */
/* The engines of cuDNN's graph API as they are pretended, and their runs. */
#include "config.h"

#include "fake_cudnn_graph.h"

/* The graphs that an engine is for. Those that are compiled at run time are also for strides. */
enum needs { TILES = 1, FLOATS = 2, FP32_GRADIENT = 4, STRIDES = 8, WIDE = 16 };

#define NOTE(name) (1U << CUDNN_NUMERICAL_NOTE_##name)

enum { KNOWN = 12 };

/* In the order of the heuristics, as in fake_cudnn_algorithms.c: the first is neither the fastest
 * nor one that runs, and the fastest round more, cannot be recorded, or are compiled. */
static const struct engine engines[DIRECTIONS][KNOWN] = {
	[FORWARD] =
		{
			{.number = 41,
			 .knob = 1,
			 .notes = NOTE(TENSOR_CORE),
			 .refuses = true,
			 .ms = 0.1F},
			{.number = 41,
			 .knob = 2,
			 .notes = NOTE(TENSOR_CORE),
			 .ms = 6,
			 .workspace = 131},
			{.number = 41,
			 .knob = 2,
			 .notes = NOTE(TENSOR_CORE),
			 .ms = 6,
			 .workspace = 131},
			{.number = 41,
			 .knob = 3,
			 .needs = TILES,
			 .notes = NOTE(TENSOR_CORE),
			 .ms = 1.5F,
			 .workspace = 512},
			{.number = 10, .notes = NOTE(TENSOR_CORE), .fails = true, .ms = 0.1F},
			{.number = 12,
			 .needs = STRIDES,
			 .notes = NOTE(TENSOR_CORE),
			 .compiled = true,
			 .ms = 0.2F},
			{.number = 16,
			 .needs = STRIDES,
			 .notes = NOTE(TENSOR_CORE),
			 .compiled = true,
			 .ms = 0.1F},
			{.number = 14, .notes = NOTE(TENSOR_CORE), .allocates = true, .ms = 0.1F},
			{.number = 15, .notes = NOTE(REDUCED_PRECISION_REDUCTION), .ms = 0.1F},
			{.number = 18,
			 .needs = FLOATS,
			 .notes = NOTE(DOWN_CONVERT_INPUTS),
			 .ms = 0.1F},
			{.number = 20,
			 .needs = FLOATS | TILES,
			 .notes = NOTE(WINOGRAD),
			 .ms = 0.5F},
			{.number = 0, .fallback = true, .ms = 27},
		},
	[BACKWARD_DATA] =
		{
			{.number = 67,
			 .knob = -1,
			 .notes = NOTE(TENSOR_CORE),
			 .ms = 9,
			 .workspace = 131},
			{.number = 68,
			 .needs = STRIDES,
			 .notes = NOTE(TENSOR_CORE),
			 .compiled = true,
			 .ms = 0.1F},
			{.number = 25,
			 .fallback = true,
			 .notes = NOTE(REDUCED_PRECISION_REDUCTION) | NOTE(NONDETERMINISTIC),
			 .ms = 0.1F},
			{.number = 0, .fallback = true, .ms = 60},
		},
	[BACKWARD_FILTER] =
		{
			{.number = 65, .knob = 5, .notes = NOTE(TENSOR_CORE), .ms = 7},
			{.number = 65,
			 .knob = 3,
			 .needs = TILES,
			 .notes = NOTE(TENSOR_CORE) | NOTE(NONDETERMINISTIC),
			 .ms = 5,
			 .workspace = 1024},
			{.number = 70,
			 .needs = FP32_GRADIENT | WIDE,
			 .notes = NOTE(TENSOR_CORE),
			 .ms = 6,
			 .workspace = 2048},
			{.number = 71,
			 .needs = FP32_GRADIENT | STRIDES,
			 .notes = NOTE(TENSOR_CORE),
			 .compiled = true,
			 .ms = 0.1F},
			{.number = 69,
			 .needs = STRIDES,
			 .notes = NOTE(TENSOR_CORE),
			 .compiled = true,
			 .ms = 0.1F},
			{.number = 1, .fallback = true, .ms = 30, .workspace = 256},
		},
};

static bool suits(const struct engine *e, const struct graph *g)
{
	const struct convolution *v = &g->convolution;
	bool floats = v->x.type == CUDNN_DATA_FLOAT, fp32 = v->w.type != v->x.type;
	bool strides = v->stride_h > 1 || v->stride_w > 1;

	return e->ms > 0 && (!(e->needs & TILES) || (v->w.h == 3 && v->w.w == 3)) &&
	       (!(e->needs & WIDE) || v->w.h > 3) && (!(e->needs & FLOATS) || floats) &&
	       !!(e->needs & FP32_GRADIENT) == fp32 && (!strides || e->needs & STRIDES);
}

const struct engine *engine_of(const struct graph *g, cudnnBackendHeurMode_t mode, int i)
{
	if (!g->supported || g->convolution.x.format != CUDNN_TENSOR_NHWC)
		return NULL;
	for (int k = 0; k < KNOWN; k++) {
		const struct engine *e = &engines[g->direction][k];

		if (suits(e, g) && e->fallback == (mode == CUDNN_HEUR_MODE_FALLBACK) && i-- == 0)
			return e;
	}
	return NULL;
}

/* The address for a unique id; NULL: the pack has none. */
static const void *address_of(const struct backend *pack, int64_t id)
{
	const int64_t *ids = attribute_values(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
	const void *const *addresses =
		attribute_values(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);

	for (int i = 0; i < pack->count; i++)
		for (int64_t k = 0; pack->list[i].name == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS &&
				    k < pack->list[i].count;
		     k++)
			if (ids[k] == id)
				return addresses[k];
	return NULL;
}

/* Whether the pack has what the plan reads and writes. */
static cudnnStatus_t take_pack(struct convolution_run *run, const struct backend *plan,
			       const struct backend *pack)
{
	const struct graph *g = &plan->graph;
	void *const *workspace = attribute_values(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
	const void *all[] = {address_of(pack, g->x), address_of(pack, g->w), address_of(pack, g->y),
			     g->has_bias ? address_of(pack, g->bias) : NULL};

	run->x = all[0];
	run->w = all[1];
	run->y = all[2];
	run->bias = all[3];
	run->workspace = plan->engine->workspace ? *workspace : NULL;
	run->workspace_bytes = plan->engine->workspace;
	if (!run->x || !run->w || !run->y || (g->has_bias && !run->bias) ||
	    (run->workspace_bytes && !run->workspace))
		return CUDNN_STATUS_BAD_PARAM;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if ((uintptr_t)all[i] % (uintptr_t)g->alignment)
			return (cudnnStatus_t)fault(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
						    "cudnnBackendExecute: %p is not a multiple of "
						    "%d",
						    all[i], (int)g->alignment);
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t put(cudnnHandle_t handle, const struct backend *plan,
			 struct convolution_run *run)
{
	const char *call = "cudnnBackendExecute";
	const struct engine *e = plan->engine;

	if (handle->object.device != device_current() || !handle->stream)
		return (cudnnStatus_t)fault(CUDNN_STATUS_BAD_PARAM,
					    "%s: the handle is of device %d, the thread's is %d, "
					    "or it has no stream",
					    call, handle->object.device, device_current());
	if (e->fails)
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (e->allocates && handle->stream->graph) {
		capture_spoil(handle->stream->graph);
		return CUDNN_STATUS_EXECUTION_FAILED_CUDART;
	}
	return stream_put(handle->stream, work_new(&convolution_kind, call, run, sizeof(*run)),
			  true) == cudaSuccess
		       ? CUDNN_STATUS_SUCCESS
		       : CUDNN_STATUS_EXECUTION_FAILED;
}

cudnnStatus_t fake_cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan_,
				       cudnnBackendDescriptor_t pack_)
{
	const char *call = "cudnnBackendExecute";
	const struct backend *plan =
		backend_get(plan_, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, call);
	const struct backend *pack =
		backend_get(pack_, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, call);
	struct convolution_run run = {.alpha = 1};
	cudnnStatus_t status;

	handle = object_get(OBJECT_CUDNN, handle, call);
	if (!handle || !plan || !pack)
		return CUDNN_STATUS_BAD_PARAM;
	if (!plan->finalized || !pack->finalized)
		return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
	status = take_pack(&run, plan, pack);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	run.convolution = plan->graph.convolution;
	run.direction = plan->graph.direction;
	run.relu = plan->graph.relu;
	run.ms = plan->engine->ms;
	run.backwards = plan->engine->notes & NOTE(NONDETERMINISTIC) && fake.runs++ % 2;
	return put(handle, plan, &run);
}
