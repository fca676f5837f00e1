/* SPDX-License-Identifier: MIT */
/* The end of a step, and what a replica holds. */
#include <math.h>
#include <stdlib.h>

#include "optim/clip.h"
#include "parallel/replica.h"

/* Of one stage, to be gathered. */
struct stage_measure {
	float norms[2 * MODEL_MOST_LAYERS];
	bool finite;
};

/* The norms of all parameters of the model in their order, whoever holds them. */
static bool measure(struct replica *r, float inv_scale, struct communicator *comm,
		    struct stage_measure *all, struct train_error *error)
{
	struct stage_measure mine = {.finite = true};
	struct gradient_measure of_stage = {.norms = mine.norms + r->first_parameter};

	if (r->parameters > 0 &&
	    !r->device->backend->optimize_measure(r->optimize, inv_scale, &of_stage, error))
		return false;
	mine.finite = r->parameters == 0 || of_stage.finite;
	*all = mine;
	if (comm && comm->world > 1) {
		struct stage_measure *each = malloc((size_t)comm->world * sizeof(*each));
		bool done = each && comm->calls->all_gather(comm, &mine, each, sizeof(mine),
							    "the norms of gradients", error);

		for (int i = 0; done && i < comm->world; i++) {
			all->finite = all->finite && each[i].finite;
			for (int p = 0; p < 2 * MODEL_MOST_LAYERS; p++)
				all->norms[p] += i == comm->rank ? 0 : each[i].norms[p];
		}
		if (!each)
			train_nomem(error, "the norms of gradients");
		free(each);
		return done;
	}
	return true;
}

bool replica_update(struct replica *r, const struct step_input *input, struct communicator *comm,
		    struct step_output *output, struct train_error *error)
{
	const struct settings *settings = r->options->settings;
	const struct backend *backend = r->device->backend;
	struct optimize_step step = {input->rates, 1 / input->scale, 1};
	int64_t begin = timeline_now();

	output->finite = true;
	output->norm = NAN;
	if (settings->clip_norm > 0 || settings->precision == VALUE_FLOAT16) {
		struct stage_measure all;

		if (!measure(r, step.inv_scale, comm, &all, error))
			return false;
		output->finite = all.finite || settings->precision != VALUE_FLOAT16;
		output->norm = (double)clip_norm(all.norms,
						 model_shapes_of(r->model)->parameters_count, 1);
		if (settings->clip_norm > 0)
			step.clip = clip_coefficient((float)output->norm, settings->clip_norm);
	}
	if (!output->finite || r->parameters == 0)
		return true;
	if (!backend->optimize_run(r->optimize, &step, error))
		return false;
	timeline_add(r->timeline, "optimizer", begin);
	r->traced_ns = timeline_now();
	return model_prepare(r->model, error);
}

void *replica_flat(const struct replica *r, int state)
{
	const char *name;

	if (state < 0)
		return model_values(r->model);
	return r->optimize ? r->device->backend->optimize_state(r->optimize, state, &name) : NULL;
}

bool replica_has(const struct replica *r, int parameter)
{
	return parameter >= r->first_parameter && parameter < r->first_parameter + r->parameters;
}

bool replica_read(struct replica *r, int state, int parameter, float *host,
		  struct train_error *error)
{
	return model_read(r->model, replica_flat(r, state), parameter, host, error);
}

bool replica_write(struct replica *r, int state, int parameter, const float *host,
		   struct train_error *error)
{
	return model_write(r->model, replica_flat(r, state), parameter, host, error);
}

bool replica_written(struct replica *r, int64_t steps, struct train_error *error)
{
	if (r->optimize)
		r->device->backend->optimize_set_steps(r->optimize, steps);
	return model_prepare(r->model, error);
}
