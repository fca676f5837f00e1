/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "parallel/dp.h"
#include "run/stop.h"

static void *on_master(struct dp *d, size_t bytes, const char *what, struct train_error *error)
{
	return d->master->device->backend->allocate_zeros(d->master->device, bytes, what, error);
}

static bool open_loss(struct dp *d, struct train_error *error)
{
	const struct parallel_options *o = &d->base.options;
	struct device *device = d->master->device;
	struct layout logits = layout_host(o->precision, d->rows,
					   d->base.shapes.layers[o->spec->count - 1].out[0], 1, 1);
	const struct inputs inputs = {.device = device,
				      .passes = o->settings->accumulate,
				      .rows = d->rows,
				      .labels = true};

	d->row_bytes = logits.bytes / (size_t)d->rows;
	d->outputs = on_master(d, logits.bytes, "the outputs of all replicas", error);
	d->output_gradients =
		d->outputs ? on_master(d, logits.bytes, "gradients of the outputs", error) : NULL;
	d->received = d->output_gradients ? on_master(d, (size_t)d->elements * sizeof(float),
						      "gradients of a replica", error)
					  : NULL;
	return d->received && inputs_open(&d->inputs, &inputs, error) &&
	       device->backend->loss(&d->loss, device, &logits, error);
}

static bool open_events(struct dp *d, struct train_error *error)
{
	struct device *master = d->master->device;
	const struct backend *backend = master->backend;

	for (int i = 0; i < d->count; i++)
		if (!backend->event_new(&d->forward_done[i], d->replicas[i].device, error) ||
		    !backend->event_new(&d->gradients_done[i], d->replicas[i].device, error))
			return false;
	return backend->event_new(&d->loss_done, master, error) &&
	       backend->event_new(&d->parameters_ready, master, error);
}

static bool open_on(void *argument, int index, struct train_error *error)
{
	struct dp *d = argument;
	const struct parallel_options *o = &d->base.options;
	int64_t first, rows = dp_chunk(d->rows, d->count, 0, &first);
	const struct replica_options how = {
		.place = &o->place->devices[index],
		.index = index,
		.sharing = d->count,
		.last = o->spec->count - 1,
		.rows = rows,
		.slots = 1,
		.passes = o->settings->accumulate,
		.learns = index == o->place->master,
	};

	return replica_open(&d->replicas[index], o, &how, error) &&
	       pieces_open(&d->pieces[index], &d->replicas[index], 1, false, error);
}

static bool close_on(void *argument, int index, struct train_error *error)
{
	struct dp *d = argument;

	(void)error;
	pieces_close(&d->pieces[index]);
	replica_close(&d->replicas[index]);
	return true;
}

static void tell(void *argument, int index, const struct train_error *error)
{
	(void)argument;
	(void)index;
	stop_failed(error);
}

bool dp_open(struct parallel **ret, const struct parallel_options *options,
	     struct train_error *error)
{
	struct dp *d = calloc(1, sizeof(*d));
	int64_t first, passes = options->settings->accumulate;

	if (!d)
		return train_nomem(error, "the replicas");
	*ret = &d->base;
	d->count = options->place->count;
	d->rows = (options->batch + passes - 1) / passes;
	if (!rank_open(&d->base, &parallel_dp, options, error) ||
	    !crew_open(&d->crew, d->count, error) || !crew_run(d->crew, open_on, tell, d, error))
		return false;
	d->master = &d->replicas[options->place->master];
	d->elements = model_elements(d->master->model, &first);
	for (int i = 0; i < d->count; i++)
		rank_has(&d->base, &d->replicas[i], 0, options->spec->count - 1);
	for (int i = 0; i < d->count; i++)
		replica_trace(&d->replicas[i], d->base.timeline[i]);
	return open_loss(d, error) && open_events(d, error) &&
	       rank_communicate(&d->base, d->master->device, error);
}

static void close_master(struct dp *d)
{
	struct device *device = d->master->device;
	const struct backend *backend = device->backend;

	op_free(d->loss);
	backend->release(device, d->received);
	inputs_close(&d->inputs);
	backend->release(device, d->output_gradients);
	backend->release(device, d->outputs);
	for (int i = 0; i < d->count; i++) {
		backend->event_free(d->forward_done[i]);
		backend->event_free(d->gradients_done[i]);
	}
	backend->event_free(d->loss_done);
	backend->event_free(d->parameters_ready);
}

/* Others' streams may still read its memory. */
static bool finish_on(void *argument, int index, struct train_error *error)
{
	struct device *device = ((struct dp *)argument)->replicas[index].device;
	struct train_error ended = TRAIN_TOLERATED;

	(void)error;
	if (device)
		device->backend->finish(device, &ended);
	return true;
}

void dp_close(struct parallel *p)
{
	struct dp *d = (struct dp *)p;
	struct train_error error = {.status = TRAIN_OK};

	if (d->crew)
		crew_run(d->crew, finish_on, NULL, d, &error);
	rank_close(p);
	if (d->master)
		close_master(d);
	if (d->crew)
		crew_run(d->crew, close_on, NULL, d, &error);
	crew_close(d->crew);
	free(d);
}

static void wake(void *argument, int index, const struct train_error *error)
{
	struct dp *d = argument;
	const struct backend *backend = d->base.options.backend;

	tell(argument, index, error);
	for (int i = 0; i < d->count; i++) {
		backend->event_abort(d->forward_done[i]);
		backend->event_abort(d->gradients_done[i]);
	}
	backend->event_abort(d->loss_done);
	backend->event_abort(d->parameters_ready);
}

bool dp_run(struct dp *d, crew_work *work, struct train_error *error)
{
	return crew_run(d->crew, work, wake, d, error);
}

void dp_abort(struct parallel *p, const struct train_error *why)
{
	rank_abort(p, why);
}
