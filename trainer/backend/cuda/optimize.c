/* SPDX-License-Identifier: MIT */
/*
 * The optimizers on the GPU. They count steps, clip, scale and skip without the host.
 *
 * A step beside other work has a stream of its own, which leaves the device's stream three times
 * and joins it twice, also while both are recorded:
 *
 *	begin	device -> beside: factors
 *	early	device -> beside: early parameters
 *	end	beside (factors) -> device: the others; then beside -> device
 *
 * So the last update does not wait for the large one.
 */
#include "config.h"

#include <stdlib.h>

#include "backend/cuda/cuda.h"
#include "memory.h"

struct optimize {
	struct cuda_device *device;
	struct optimizer_settings settings;
	float *values;
	const float *gradients;
	struct scaler *scaler;
	int count, before; /* parameters */
	float *state[OPTIMIZER_MAX_STATES];
	int32_t chunk_count, early_count;

	/* If a parameter is early */
	cudaStream_t beside;
	cudaEvent_t ready, begun, updated; /* of the device's stream, and of this one */

	/* On the device */
	struct chunk *chunks; /* those of early parameters first */
	int32_t *starts;      /* each parameter's first chunk, and the end of the last */
	int64_t *steps;
	struct update_factors *factors;
};

static int64_t cut(struct chunk *chunks, const struct optimize_parameter *p)
{
	return p->used && p->elements > 0
		       ? chunk_cut(chunks, p->offset, p->elements, &p->copy, &p->gradient)
		       : 0;
}

/* Adds the chunks of the parameters that are early, or of the others, from the at-th on. */
static int32_t add_chunks(const struct optimize_options *options, bool early, struct chunk *chunks,
			  int32_t *starts, int32_t at)
{
	for (int i = 0; i < options->count; i++) {
		const struct optimize_parameter *p = &options->parameters[i];

		if (p->early != early)
			continue;
		starts[i] = at;
		at += (int32_t)cut(chunks + at, p);
	}
	return at;
}

/* For each parameter that is used; starts has count + 1 elements. */
static struct chunk *make_chunks(struct optimize *o, const struct optimize_options *options,
				 int32_t *starts)
{
	struct chunk *chunks;
	int64_t all = 0;

	for (int i = 0; i < options->count; i++)
		all += cut(NULL, &options->parameters[i]);
	chunks = xcalloc((size_t)all, sizeof(*chunks));
	o->early_count = add_chunks(options, true, chunks, starts, 0);
	o->chunk_count = add_chunks(options, false, chunks, starts, o->early_count);
	starts[options->count] = o->chunk_count;
	return chunks;
}

static void *copied(struct device *device, const void *host, size_t bytes,
		    struct train_error *error)
{
	void *memory = cuda_allocate(device, bytes + 1, "the optimizer's tables", error);

	if (memory &&
	    !(cuda_write(device, memory, host, bytes, error) && cuda_finish(device, error))) {
		cuda_release(device, memory);
		return NULL;
	}
	return memory;
}

static bool add_tables(struct optimize *o, const struct optimize_options *options,
		       struct train_error *error)
{
	int32_t starts[GRADIENT_MAX_PARAMETERS + 1];
	struct device *device = &o->device->base;
	CLEANUP_FREE struct chunk *chunks = make_chunks(o, options, starts);

	o->chunks = copied(device, chunks, (size_t)o->chunk_count * sizeof(*chunks), error);
	o->starts =
		o->chunks ? copied(device, starts, (size_t)(o->count + 1) * sizeof(*starts), error)
			  : NULL;
	return o->starts;
}

static void *zeroed(struct device *device, size_t bytes, struct train_error *error)
{
	return cuda_allocate_zeros(device, bytes, "the optimizer's state", error);
}

/* The number of elements up to the end of the last parameter. */
static bool add_states(struct optimize *o, const struct optimize_options *options,
		       struct train_error *error)
{
	struct device *device = &o->device->base;
	size_t bytes = optimize_state_bytes(options);

	for (int k = 0; optimizer_state_name(&o->settings, k); k++) {
		o->state[k] = zeroed(device, bytes, error);
		if (!o->state[k])
			return false;
	}
	o->steps = zeroed(device, sizeof(*o->steps), error);
	o->factors = o->steps ? zeroed(device, sizeof(*o->factors), error) : NULL;
	return o->factors &&
	       cuda_want_scratch(o->device, gradient_measure_scratch(o->chunk_count), error);
}

static bool open_beside(struct optimize *o, struct train_error *error)
{
	struct cuda_device *d = o->device;
	cudaEvent_t *const events[] = {&o->ready, &o->begun, &o->updated};

	if (o->early_count == 0)
		return true;
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (!CUDA_DO(d, RUNTIME, cudaEventCreateWithFlags,
			     (events[i], cudaEventDisableTiming), error))
			return false;
	return CUDA_DO(d, RUNTIME, cudaStreamCreateWithPriority,
		       (&o->beside, cudaStreamNonBlocking, 0), error);
}

static void close_beside(struct optimize *o)
{
	struct cuda_device *d = o->device;
	const cudaEvent_t events[] = {o->ready, o->begun, o->updated};

	cuda_use_last(d);
	if (o->beside)
		CUDA_END(d, RUNTIME, cudaStreamDestroy, (o->beside));
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (events[i])
			CUDA_END(d, RUNTIME, cudaEventDestroy, (events[i]));
}

bool cuda_optimize_new(struct optimize **ret, struct device *device,
		       const struct optimize_options *options, struct train_error *error)
{
	struct optimize *o;

	if (!optimizer_has_kernel(options->settings.kind, error))
		return false;
	o = xcalloc(1, sizeof(*o));
	o->device = (struct cuda_device *)device;
	o->settings = options->settings;
	o->values = options->values;
	o->gradients = options->gradients;
	o->scaler = options->scaler;
	o->count = options->count;
	o->before = options->before;
	if (!add_tables(o, options, error) || !add_states(o, options, error) ||
	    !open_beside(o, error)) {
		cuda_optimize_free(o);
		return false;
	}
	*ret = o;
	return true;
}

bool cuda_optimize_measure(struct optimize *o, struct gradient_measure *measure,
			   struct train_error *error)
{
	struct cuda_device *d = o->device;
	const struct gradient_measure_args args = {
		.gradients = o->gradients,
		.chunks = o->chunks,
		.starts = o->starts,
		.scaler = o->scaler,
		.measure = measure,
		.scratch = d->scratch,
		.chunk_count = o->chunk_count,
		.parameters = o->count,
		.before = o->before,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, gradient_measure, &args, error);
}

bool cuda_optimize_norm(struct optimize *o, struct gradient_measure *measure,
			struct train_error *error)
{
	const struct gradient_norm_args args = {measure};

	return cuda_use(o->device, error) && CUDA_KERNEL(o->device, gradient_norm, &args, error);
}

static bool make_factors(struct optimize *o, cudaStream_t stream,
			 const struct update_control *control,
			 const struct gradient_measure *measure, struct train_error *error)
{
	const struct update_begin_args args = {
		.settings = optimizer_update_settings(&o->settings),
		.control = control,
		.measure = measure,
		.steps = o->steps,
		.factors = o->factors,
		.scaler = o->scaler,
	};

	return CUDA_KERNEL_ON(o->device, stream, update_begin, &args, error);
}

/* Updates chunks from the first-th to before the end-th. */
static bool update(struct optimize *o, cudaStream_t stream, int32_t first, int32_t end,
		   struct train_error *error)
{
	const struct update_args args = {
		.values = o->values,
		.gradients = o->gradients,
		.mean = o->state[0],
		.variance = o->state[1],
		.chunks = o->chunks + first,
		.factors = o->factors,
		.chunk_count = end - first,
		.nesterov = o->settings.nesterov,
		.beside = stream == o->beside,
	};

	return CUDA_KERNEL_ON(o->device, stream, update, &args, error);
}

bool cuda_optimize_run(struct optimize *o, const struct update_control *control,
		       const struct gradient_measure *measure, struct train_error *error)
{
	struct cuda_device *d = o->device;

	return cuda_use(d, error) && make_factors(o, d->stream, control, measure, error) &&
	       update(o, d->stream, 0, o->chunk_count, error);
}

static bool record(struct optimize *o, cudaEvent_t event, cudaStream_t stream,
		   struct train_error *error)
{
	return CUDA_DO(o->device, RUNTIME, cudaEventRecord, (event, stream), error);
}

/* Later work on the stream comes after the event. */
static bool follow(struct optimize *o, cudaStream_t stream, cudaEvent_t event,
		   struct train_error *error)
{
	return CUDA_DO(o->device, RUNTIME, cudaStreamWaitEvent, (stream, event, 0), error);
}

/* Later work on the stream beside comes after what is on the device's. */
static bool leave(struct optimize *o, struct train_error *error)
{
	return cuda_use(o->device, error) && record(o, o->ready, o->device->stream, error) &&
	       follow(o, o->beside, o->ready, error);
}

bool cuda_optimize_begin(struct optimize *o, const struct update_control *control,
			 struct train_error *error)
{
	return leave(o, error) && make_factors(o, o->beside, control, NULL, error) &&
	       record(o, o->begun, o->beside, error);
}

bool cuda_optimize_early(struct optimize *o, struct train_error *error)
{
	return leave(o, error) && update(o, o->beside, 0, o->early_count, error) &&
	       record(o, o->updated, o->beside, error);
}

bool cuda_optimize_end(struct optimize *o, struct train_error *error)
{
	cudaStream_t stream = o->device->stream;

	return cuda_use(o->device, error) && follow(o, stream, o->begun, error) &&
	       update(o, stream, o->early_count, o->chunk_count, error) &&
	       follow(o, stream, o->updated, error);
}

void *cuda_optimize_state(struct optimize *o, int index, const char **name)
{
	*name = optimizer_state_name(&o->settings, index);
	return *name ? o->state[index] : NULL;
}

bool cuda_optimize_set_steps(struct optimize *o, int64_t steps, struct train_error *error)
{
	return cuda_write(&o->device->base, o->steps, &steps, sizeof(steps), error) &&
	       cuda_finish(&o->device->base, error);
}

void cuda_optimize_free(struct optimize *o)
{
	struct device *device;

	if (!o)
		return;
	device = &o->device->base;
	close_beside(o);
	for (int k = 0; k < OPTIMIZER_MAX_STATES; k++)
		cuda_release(device, o->state[k]);
	cuda_release(device, o->factors);
	cuda_release(device, o->steps);
	cuda_release(device, o->starts);
	cuda_release(device, o->chunks);
	free(o);
}
