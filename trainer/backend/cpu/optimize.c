/* SPDX-License-Identifier: MIT */
/*
 * The optimizers of optim/optimizer.h over flat buffers. Steps and the check for values that are
 * not finite split each parameter among the threads. A norm is a sum in one order (clip.h), so one
 * thread computes it; the largest parameters begin first.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "base/pages.h"
#include "kernels/update.h"
#include "memory.h"
#include "optim/clip.h"

struct optimize {
	struct device *device;
	struct optimizer *optimizer;
	struct scaler *scaler;
	struct optimizer_settings settings;
	float *state[OPTIMIZER_MAX_STATES];
	/* parameters: of the stage, before it, and of the model */
	int count, before, all;
	int *by_size; /* indices of all, the largest first */
};

struct measuring {
	const struct optimize *optimize;
	float scale, *norms;
	atomic_int next; /* in by_size */
	atomic_bool finite;
};

/* The states, zero. */
static bool add_states(struct optimize *o, const struct optimize_options *options,
		       struct train_error *error)
{
	const struct backend *backend = o->device->backend;
	size_t bytes = optimize_state_bytes(options);

	for (int k = 0; optimizer_state_name(&o->settings, k); k++) {
		o->state[k] =
			backend->allocate_zeros(o->device, bytes, "the optimizer's state", error);
		if (!o->state[k])
			return false;
		pages_take(o->state[k], bytes);
	}
	return true;
}

static void add_parameters(struct optimize *o, const struct optimize_options *options,
			   struct optimizer_param *parameters)
{
	for (int i = 0; i < o->count; i++) {
		const struct optimize_parameter *p = &options->parameters[i];
		struct optimizer_param *to = &parameters[i];
		int at = i;

		to->weight = options->values + p->offset;
		to->elements = p->elements;
		to->gradient = p->used ? options->gradients + p->offset : NULL;
		to->copy = p->copy.memory;
		for (int k = 0; k < OPTIMIZER_MAX_STATES; k++)
			to->state[k] = o->state[k] ? o->state[k] + p->offset : NULL;
		for (; at > 0; at--) {
			if (options->parameters[o->by_size[at - 1]].elements >= p->elements)
				break;
			o->by_size[at] = o->by_size[at - 1];
		}
		o->by_size[at] = i;
	}
}

bool cpu_optimize_new(struct optimize **optimize, struct device *device,
		      const struct optimize_options *options, struct train_error *error)
{
	struct optimize *o = xcalloc(1, sizeof(*o));
	CLEANUP_FREE struct optimizer_param *parameters =
		xcalloc((size_t)options->count, sizeof(*parameters));

	o->device = device;
	o->settings = options->settings;
	o->scaler = options->scaler;
	o->count = options->count;
	o->before = options->before;
	o->all = options->before + options->count + options->after;
	o->by_size = xcalloc((size_t)o->count, sizeof(*o->by_size));
	if (!add_states(o, options, error)) {
		cpu_optimize_free(o);
		return false;
	}
	add_parameters(o, options, parameters);
	o->optimizer = optimizer_new(&o->settings, parameters, o->count);
	*optimize = o;
	return true;
}

static void find_norms(void *argument, int64_t first, int64_t last)
{
	struct measuring *m = argument;
	int at;

	for (; first < last; first++)
		while ((at = atomic_fetch_add(&m->next, 1)) < m->optimize->count) {
			int i = m->optimize->by_size[at];

			m->norms[i] = optimizer_norm(m->optimize->optimizer, i, m->scale);
		}
}

static void find_infinite(void *argument, int64_t first, int64_t last)
{
	struct measuring *m = argument;
	int parts = cpu_team_of(m->optimize->device)->threads;

	for (; first < last; first++)
		if (!optimizer_finite(m->optimize->optimizer, m->scale, (int)first, parts))
			m->finite = false;
}

static bool all_finite(const float *norms, int count)
{
	bool finite = true;

	for (int i = 0; i < count; i++)
		finite = finite && isfinite(norms[i]);
	return finite;
}

static float unscaled(const struct optimize *o)
{
	return o->scaler ? scaler_inverse(o->scaler) : 1;
}

bool cpu_optimize_measure(struct optimize *o, struct gradient_measure *measure,
			  struct train_error *error)
{
	struct measuring m = {.optimize = o,
			      .scale = unscaled(o),
			      .norms = measure->norms + o->before,
			      .finite = true};

	memset(measure, 0, sizeof(*measure));
	cpu_team_run(cpu_team_of(o->device), cpu_team_of(o->device)->threads, find_norms, &m);
	/* Finite norms mean finite gradients. A norm that is not finite may have overflowed itself.
	 */
	if (!all_finite(m.norms, o->count))
		cpu_team_run(cpu_team_of(o->device), cpu_team_of(o->device)->threads, find_infinite,
			     &m);
	measure->found_inf = m.finite ? 0 : 1;
	return cpu_optimize_norm(o, measure, error);
}

bool cpu_optimize_norm(struct optimize *o, struct gradient_measure *measure,
		       struct train_error *error)
{
	measure->norm = clip_norm(measure->norms, o->all, 1);
	return true;
}

static void step_parts(void *argument, int64_t first, int64_t last)
{
	struct optimize *o = argument;

	for (; first < last; first++)
		optimizer_part(o->optimizer, (int)first, cpu_team_of(o->device)->threads);
}

bool cpu_optimize_run(struct optimize *o, const struct update_control *control,
		      const struct gradient_measure *measure, struct train_error *error)
{
	const bool clips = control->clip_norm > 0;
	const struct optimizer_step step = {
		.rates = {control->lr, control->momentum},
		.inv_scale = unscaled(o),
		.clip = clips ? clip_coefficient(measure->norm, control->clip_norm) : 1,
	};

	if (o->scaler && !scaler_update(o->scaler, measure->found_inf == 0))
		return true;
	optimizer_begin(o->optimizer, &step);
	return cpu_optimize_end(o, error);
}

bool cpu_optimize_begin(struct optimize *o, const struct update_control *control,
			struct train_error *error)
{
	const struct optimizer_step step = {
		.rates = {control->lr, control->momentum}, .inv_scale = 1, .clip = 1};

	optimizer_begin(o->optimizer, &step);
	return true;
}

bool cpu_optimize_early(struct optimize *o, struct train_error *error)
{
	return true;
}

bool cpu_optimize_end(struct optimize *o, struct train_error *error)
{
	cpu_team_run(cpu_team_of(o->device), cpu_team_of(o->device)->threads, step_parts, o);
	return true;
}

void *cpu_optimize_state(struct optimize *o, int index, const char **name)
{
	*name = optimizer_state_name(&o->settings, index);
	return *name ? o->state[index] : NULL;
}

bool cpu_optimize_set_steps(struct optimize *o, int64_t steps, struct train_error *error)
{
	optimizer_set_steps(o->optimizer, steps);
	return true;
}

void cpu_optimize_free(struct optimize *o)
{
	if (!o)
		return;
	optimizer_free(o->optimizer);
	for (int k = 0; k < OPTIMIZER_MAX_STATES; k++)
		o->device->backend->release(o->device, o->state[k]);
	free(o->by_size);
	free(o);
}
