/* SPDX-License-Identifier: MIT */
/* The optimizers on the GPU. They count steps, clip, scale and skip without the host. */
#include "config.h"

#include <stdlib.h>

#include "backend/cuda.h"

struct optimize {
	struct cuda_device *device;
	struct optimizer_settings settings;
	float *values;
	const float *gradients;
	struct scaler *scaler;
	int count, before; /* parameters */
	float *state[OPTIMIZER_MAX_STATES];
	int32_t chunk_count;

	/* On the device */
	struct chunk *chunks;
	int32_t *starts; /* each parameter's first chunk, and the end of the last */
	int64_t *steps;
	struct update_factors *factors;
};

static int64_t cut(struct chunk *chunks, const struct optimize_parameter *p)
{
	return p->used && p->elements > 0
		       ? chunk_cut(chunks, p->offset, p->elements, &p->copy, &p->gradient)
		       : 0;
}

/* For each parameter that is used; starts has count + 1 elements. */
static struct chunk *make_chunks(const struct optimize_options *options, int32_t *starts)
{
	struct chunk *chunks;
	int64_t all = 0;

	for (int i = 0; i < options->count; i++)
		all += cut(NULL, &options->parameters[i]);
	chunks = malloc((size_t)(all + 1) * sizeof(*chunks));
	all = 0;
	for (int i = 0; chunks && i < options->count; i++) {
		starts[i] = (int32_t)all;
		all += cut(chunks + all, &options->parameters[i]);
	}
	starts[options->count] = (int32_t)all;
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
	struct chunk *chunks = make_chunks(options, starts);

	if (!chunks)
		return train_nomem(error, "the optimizer");
	o->chunk_count = starts[o->count];
	o->chunks = copied(device, chunks, (size_t)o->chunk_count * sizeof(*chunks), error);
	o->starts =
		o->chunks ? copied(device, starts, (size_t)(o->count + 1) * sizeof(*starts), error)
			  : NULL;
	free(chunks);
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

bool cuda_optimize_new(struct optimize **ret, struct device *device,
		       const struct optimize_options *options, struct train_error *error)
{
	struct optimize *o = calloc(1, sizeof(*o));

	if (!o)
		return train_nomem(error, "the optimizer");
	o->device = (struct cuda_device *)device;
	o->settings = options->settings;
	o->values = options->values;
	o->gradients = options->gradients;
	o->scaler = options->scaler;
	o->count = options->count;
	o->before = options->before;
	if (!add_tables(o, options, error) || !add_states(o, options, error)) {
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

bool cuda_optimize_run(struct optimize *o, const struct update_control *control,
		       const struct gradient_measure *measure, struct train_error *error)
{
	struct cuda_device *d = o->device;
	const struct update_begin_args begin = {
		.settings = o->settings,
		.control = control,
		.measure = measure,
		.steps = o->steps,
		.factors = o->factors,
		.scaler = o->scaler,
	};
	const struct update_args args = {
		.values = o->values,
		.gradients = o->gradients,
		.mean = o->state[0],
		.variance = o->state[1],
		.chunks = o->chunks,
		.factors = o->factors,
		.chunk_count = o->chunk_count,
		.nesterov = o->settings.nesterov,
	};

	return cuda_use(d, error) && CUDA_KERNEL(d, update_begin, &begin, error) &&
	       CUDA_KERNEL(d, update, &args, error);
}

void *cuda_optimize_state(struct optimize *o, int index, const char **name)
{
	*name = optimizer_state_name(&o->settings, index);
	return *name ? o->state[index] : NULL;
}

bool cuda_optimize_steps(struct optimize *o, int64_t *steps, struct train_error *error)
{
	return cuda_read(&o->device->base, steps, o->steps, sizeof(*steps), error);
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
	for (int k = 0; k < OPTIMIZER_MAX_STATES; k++)
		cuda_release(device, o->state[k]);
	cuda_release(device, o->factors);
	cuda_release(device, o->steps);
	cuda_release(device, o->starts);
	cuda_release(device, o->chunks);
	free(o);
}
