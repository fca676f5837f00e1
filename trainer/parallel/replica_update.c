/* SPDX-License-Identifier: MIT */
/* The end of a step, and the parameters and states of a replica. */
#include <stddef.h>

#include "parallel/replica.h"

bool replica_measures(const struct replica *r)
{
	const struct settings *settings = r->options->settings;

	return settings->clip_norm > 0 || r->scaler;
}

bool replica_measure(struct replica *r, struct train_error *error)
{
	int64_t begin = timeline_begin(r->timeline);

	if (!r->device->backend->optimize_measure(r->optimize, &replica_results(r)->measure, error))
		return false;
	timeline_add(r->timeline, "norms", begin);
	return true;
}

bool replica_norm(struct replica *r, struct train_error *error)
{
	return r->device->backend->optimize_norm(r->optimize, &replica_results(r)->measure, error);
}

/* After an update that was put on the stream since `begin`. */
static bool updated(struct replica *r, int64_t begin, struct train_error *error)
{
	timeline_add(r->timeline, "optimizer", begin);
	r->traced_at = timeline_begin(r->timeline);
	return model_prepare(r->model, true, error);
}

bool replica_learn(struct replica *r, struct train_error *error)
{
	int64_t begin = timeline_begin(r->timeline);

	if (r->parameters == 0 && !r->scaler)
		return true;
	if (!r->device->backend->optimize_run(
		    r->optimize, inputs_update(&r->inputs),
		    replica_measures(r) ? &replica_results(r)->measure : NULL, error))
		return false;
	return updated(r, begin, error);
}

bool replica_update(struct replica *r, struct train_error *error)
{
	return (!replica_measures(r) || replica_measure(r, error)) && replica_learn(r, error);
}

static bool update_early(void *argument, int layer, struct train_error *error)
{
	const struct replica *r = argument;

	return layer != r->early_layer || r->device->backend->optimize_early(r->optimize, error);
}

bool replica_step(struct replica *r, int64_t passes, struct train_error *error)
{
	const struct backend *backend = r->device->backend;
	const struct model_watch watch = {.done = update_early, .argument = r};

	if (r->early_layer < 0 || timeline_on(r->timeline))
		return replica_passes(r, passes, NULL, error) && replica_update(r, error);
	return backend->optimize_begin(r->optimize, inputs_update(&r->inputs), error) &&
	       replica_passes(r, passes, &watch, error) &&
	       backend->optimize_end(r->optimize, error) && updated(r, 0, error);
}

/* The norms of single parameters stay unchanged. */
enum { RESULT_BYTES = offsetof(struct step_results, measure.norms) };

bool replica_fetch(struct replica *r, struct train_error *error)
{
	return r->device->backend->fetch(r->device, replica_results(r), RESULT_BYTES, error);
}

bool replica_take(struct replica *r, struct step_output *output, struct train_error *error)
{
	struct step_results results;

	if (!r->device->backend->take(r->device, &results, RESULT_BYTES, error))
		return false;
	output->loss += results.loss.loss;
	output->correct += results.loss.correct;
	if (replica_measures(r))
		output->norm = (double)results.measure.norm;
	output->finite = !r->scaler || results.measure.found_inf == 0;
	return true;
}

void *replica_flat(const struct replica *r, int state)
{
	const char *name;

	if (state < 0)
		return r->model->values;
	return r->optimize ? r->device->backend->optimize_state(r->optimize, state, &name) : NULL;
}

bool replica_read(struct replica *r, int state, int parameter, float *host,
		  struct train_error *error)
{
	if (state == PARALLEL_BUFFERS)
		return model_read_buffer(r->model, parameter, host, error);
	return model_read(r->model, replica_flat(r, state), parameter, host, error);
}

bool replica_write(struct replica *r, int state, int parameter, const float *host,
		   struct train_error *error)
{
	if (state == PARALLEL_BUFFERS)
		return model_write_buffer(r->model, parameter, host, error);
	return model_write(r->model, replica_flat(r, state), parameter, host, error);
}

bool replica_written(struct replica *r, const struct optimizer_progress *progress,
		     struct train_error *error)
{
	const struct backend *backend = r->device->backend;

	if (r->optimize && !backend->optimize_set_steps(r->optimize, progress->steps, error))
		return false;
	if (r->scaler && !backend->write(r->device, r->scaler, &progress->scaler,
					 sizeof(progress->scaler), error))
		return false;
	return model_prepare(r->model, false, error);
}
