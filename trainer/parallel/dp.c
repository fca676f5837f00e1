/* SPDX-License-Identifier: MIT */
/*
 * One process with a replica on each device, each with a thread, as in nn.DataParallel. Events
 * order the devices, also with real streams.
 *
 * nn.DataParallel gives parameters and buffers to all replicas before each forward pass; here this
 * happens after the optimizer's step, which has the same effect: training does not read buffers,
 * and those of the master stay.
 */
#include "parallel/dp.h"

#include <stdlib.h>

#include "base/clock.h"
#include "memory.h"
#include "parallel/graph_segments.h"
#include "parallel/rank.h"
#include "place/threads.h"

struct dp {
	struct parallel base;
	struct threads *threads; /* a thread for each replica; this one for the first */
	int count;
	struct replica replicas[PLACE_MAX_DEVICES];
	struct graph_segments segments[PLACE_MAX_DEVICES];
	struct replica *master;
	int64_t rows; /* of a pass, over all replicas */

	/* On the master */
	struct op *loss;
	void *outputs, *output_gradients; /* of a pass: rows of row_bytes */
	size_t row_bytes;
	struct inputs inputs; /* of whole passes, for the loss */
	float *received;      /* a replica's gradients */

	/* This many times: passes for the first two, steps, updates */
	struct event *forward_done[PLACE_MAX_DEVICES], *loss_done;
	struct event *gradients_done[PLACE_MAX_DEVICES], *parameters_ready;
	uint64_t passes, steps, updates;

	/* Of the current call */
	const struct step_input *input;
	struct step_output *output;
	bool test;
	int64_t pass, pass_total, pass_count;
	const struct optimizer_progress *progress;
	struct device_check *checks;
};

int64_t dp_chunk(int64_t count, int replicas, int index, int64_t *first)
{
	int64_t size = (count + replicas - 1) / replicas, left;

	*first = size * index < count ? size * index : count;
	left = count - *first;
	return left < size ? left : size;
}

/* --- replicas, and the memory of their master ------------------------------------------------ */

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
	d->received = d->output_gradients
			      ? on_master(d, (size_t)d->master->model->elements * sizeof(float),
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

	if (!replica_open(&d->replicas[index], o, &how, error))
		return false;
	graph_segments_open(&d->segments[index], &d->replicas[index], 1, false);
	return true;
}

static bool close_on(void *argument, int index, struct train_error *error)
{
	struct dp *d = argument;

	graph_segments_close(&d->segments[index]);
	replica_close(&d->replicas[index]);
	return true;
}

static void note_failure(void *argument, int index, const struct train_error *error)
{
	const struct dp *d = argument;

	if (d->base.options.failed)
		d->base.options.failed(error);
}

static bool dp_open(struct parallel **ret, const struct parallel_options *options,
		    struct train_error *error)
{
	struct dp *d = xcalloc(1, sizeof(*d));
	int64_t passes = options->settings->accumulate;

	*ret = &d->base;
	d->count = options->place->count;
	d->rows = (options->batch + passes - 1) / passes;
	if (!rank_open(&d->base, &parallel_dp, options, error) ||
	    !threads_open(&d->threads, d->count, error) ||
	    !threads_run(d->threads, open_on, note_failure, d, error))
		return false;
	d->base.replica = d->master = &d->replicas[options->place->master];
	d->base.batches_tracked = &d->master->batches_tracked;
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

/* Streams of others may still read its memory. */
static bool finish_on(void *argument, int index, struct train_error *error)
{
	struct device *device = ((struct dp *)argument)->replicas[index].device;
	struct train_error ended = TRAIN_TOLERATED;

	if (device)
		device->backend->finish(device, &ended);
	return true;
}

static void dp_close(struct parallel *p)
{
	struct dp *d = (struct dp *)p;
	struct train_error error = {.status = TRAIN_OK};

	if (d->threads)
		threads_run(d->threads, finish_on, NULL, d, &error);
	rank_close(p);
	if (d->master)
		close_master(d);
	if (d->threads)
		threads_run(d->threads, close_on, NULL, d, &error);
	threads_close(d->threads);
	free(d);
}

static void wake(void *argument, int index, const struct train_error *error)
{
	struct dp *d = argument;
	const struct backend *backend = d->base.options.backend;

	note_failure(argument, index, error);
	for (int i = 0; i < d->count; i++) {
		backend->event_abort(d->forward_done[i]);
		backend->event_abort(d->gradients_done[i]);
	}
	backend->event_abort(d->loss_done);
	backend->event_abort(d->parameters_ready);
}

/* Runs the work in all replicas, each in its thread. A replica that fails ends the waiting of the
 * others. */
static bool dp_run(struct dp *d, threads_work *work, struct train_error *error)
{
	return threads_run(d->threads, work, wake, d, error);
}

/* --- steps ----------------------------------------------------------------------------------- */

static bool copy_outputs(struct dp *d, int from, struct train_error *error)
{
	const struct backend *backend = d->master->device->backend;
	struct replica *r = &d->replicas[from];
	int64_t first, count = dp_chunk(d->pass_count, d->count, from, &first);
	char *to = (char *)d->outputs + (size_t)first * d->row_bytes;

	return count == 0 ||
	       backend->copy(d->master->device, to, r->device, model_output(r->model, 0),
			     (size_t)count * d->row_bytes, error);
}

/* On the master: outputs of all, their loss and its gradient. */
static bool gather_and_loss(struct dp *d, bool gradient, struct train_error *error)
{
	const struct backend *backend = d->master->device->backend;
	const struct inputs_pass pass = inputs_device(&d->inputs, d->pass);
	struct op_args args = {.input = d->outputs,
			       .input_gradient = gradient ? d->output_gradients : NULL,
			       .labels = pass.labels,
			       .control = pass.control,
			       .scaler = d->master->scaler,
			       .result = &replica_results(d->master)->loss,
			       .overwrite = d->pass == 0};

	for (int i = 0; i < d->count; i++)
		if (!backend->event_wait(d->master->device, d->forward_done[i], d->passes, error) ||
		    !copy_outputs(d, i, error))
			return false;
	return d->loss->calls->forward(d->loss, &args, error) &&
	       backend->event_record(d->loss_done, error);
}

static bool scatter_gradient(struct dp *d, int index, struct train_error *error)
{
	struct replica *r = &d->replicas[index];
	const struct backend *backend = r->device->backend;
	int64_t first, count = dp_chunk(d->pass_count, d->count, index, &first);
	const char *from = (const char *)d->output_gradients + (size_t)first * d->row_bytes;
	size_t bytes = (size_t)count * d->row_bytes;
	char *to = model_output_gradient(r->model);

	/* Rows that do not count have a gradient of zero. */
	return backend->event_wait(r->device, d->loss_done, d->passes, error) &&
	       (bytes == 0 ||
		backend->copy(r->device, to, d->master->device, from, bytes, error)) &&
	       (bytes == model_output_bytes(r->model) ||
		backend->zero(r->device, to + bytes, model_output_bytes(r->model) - bytes, error));
}

static int64_t pass_size(const struct dp *d, int64_t pass)
{
	int64_t left = d->input->count - pass * d->rows;

	return left < d->rows ? left : d->rows;
}

/* A replica's rows of all passes. */
static bool begin_on(struct dp *d, int index, struct train_error *error)
{
	struct replica *r = &d->replicas[index];

	for (int64_t pass = 0; pass < d->pass_total; pass++) {
		int64_t first, count = dp_chunk(pass_size(d, pass), d->count, index, &first);
		const struct replica_rows rows = {
			.epoch = d->input->epoch,
			.indices = d->input->indices + pass * d->rows + first,
			.count = count,
			.of_all = d->input->of_all,
			.test = d->test,
		};

		replica_set_rows(r, pass, &rows);
	}
	return replica_begin(r, d->input, error);
}

/* A pass of one replica; the master's thread computes the loss between. */
static bool pass_on(void *argument, int index, struct train_error *error)
{
	struct dp *d = argument;
	struct replica *r = &d->replicas[index];
	const struct backend *backend = r->device->backend;

	/* Training waits for the gradient; here the master may still copy the output. */
	if (d->test && d->pass > 0 && r != d->master &&
	    !backend->event_wait(r->device, d->loss_done, d->passes - 1, error))
		return false;
	if ((d->pass == 0 && !begin_on(d, index, error)) ||
	    !graph_segments_forward(&d->segments[index], d->pass, d->test, error) ||
	    !backend->event_record(d->forward_done[index], error))
		return false;
	if (r == d->master && !gather_and_loss(d, !d->test, error))
		return false;
	if (d->test)
		return true;
	return scatter_gradient(d, index, error) &&
	       graph_segments_backward(&d->segments[index], d->pass, d->pass_total, error);
}

#define SUM "sum of gradients"

/* Sums gradients on the master in the order of the devices. */
static bool sum_gradients(struct dp *d, struct train_error *error)
{
	struct device *master = d->master->device;
	const struct backend *backend = master->backend;
	float *sum = d->master->model->gradients;
	size_t bytes = (size_t)d->master->model->elements * sizeof(*sum);
	int64_t begin = clock_ns(), at = timeline_begin(d->master->timeline);

	for (int i = 0; i < d->count; i++) {
		struct replica *r = &d->replicas[i];

		if (r != d->master &&
		    (!backend->event_wait(master, d->gradients_done[i], d->steps, error) ||
		     !backend->copy(master, d->received, r->device, r->model->gradients, bytes,
				    error) ||
		     !backend->add(master, sum, d->received, d->master->model->elements, error)))
			return false;
	}
	d->output->exposed_ns += clock_ns() - begin;
	timeline_add(d->master->timeline, SUM, at);
	return true;
}

static bool take_parameters(struct dp *d, int index, struct train_error *error)
{
	struct replica *r = &d->replicas[index];
	const struct backend *backend = r->device->backend;
	const struct model *from = d->master->model;
	int64_t begin = timeline_begin(r->timeline);
	size_t buffers = (size_t)from->buffer_elements * sizeof(float);

	if (!backend->event_wait(r->device, d->parameters_ready, d->updates, error) ||
	    !backend->copy(r->device, r->model->values, d->master->device, from->values,
			   (size_t)from->elements * sizeof(float), error))
		return false;
	if (buffers > 0 && !backend->copy(r->device, r->model->buffers, d->master->device,
					  from->buffers, buffers, error))
		return false;
	timeline_add(r->timeline, "parameters", begin);
	r->traced_at = timeline_begin(r->timeline);
	return model_prepare(r->model, false, error);
}

static bool update_on(void *argument, int index, struct train_error *error)
{
	struct dp *d = argument;
	struct replica *r = &d->replicas[index];

	if (r != d->master)
		return r->device->backend->event_record(d->gradients_done[index], error) &&
		       take_parameters(d, index, error);
	return sum_gradients(d, error) && graph_segments_update(&d->segments[index], error) &&
	       replica_fetch(d->master, error) &&
	       d->master->device->backend->event_record(d->parameters_ready, error);
}

/* On the master: the loss's inputs of all passes. */
static bool begin_loss(struct dp *d, struct train_error *error)
{
	const struct dataset *data = d->test ? d->base.options.test : d->base.options.train;
	size_t record = dataset_record(&data->shape);

	for (int64_t pass = 0; pass < d->pass_total; pass++) {
		const int64_t *indices = d->input->indices + pass * d->rows;
		struct inputs_pass to = inputs_host(&d->inputs, pass);
		int64_t count = pass_size(d, pass);

		*to.control = (struct pass_control){d->input->epoch, (int32_t)count,
						    1 / (float)d->input->of_all};
		for (int64_t i = 0; i < count; i++)
			to.labels[i] = data->records[(size_t)indices[i] * record];
	}
	return inputs_send(&d->inputs, error);
}

static bool passes(struct dp *d, const struct step_input *input, bool test,
		   struct train_error *error)
{
	d->input = input;
	d->output = rank_submit(&d->base);
	d->test = test;
	d->pass_total = input->count > d->rows ? (input->count + d->rows - 1) / d->rows : 1;
	if (!begin_loss(d, error))
		return false;
	for (d->pass = 0; d->pass < d->pass_total; d->pass++) {
		d->pass_count = pass_size(d, d->pass);
		d->passes++;
		if (!dp_run(d, pass_on, error))
			return false;
	}
	return true;
}

static bool dp_step(struct parallel *p, const struct step_input *input, struct train_error *error)
{
	struct dp *d = (struct dp *)p;

	if (!passes(d, input, false, error))
		return false;
	d->steps++;
	d->updates++;
	return dp_run(d, update_on, error);
}

static bool dp_evaluate(struct parallel *p, const struct step_input *input,
			struct train_error *error)
{
	struct dp *d = (struct dp *)p;

	return passes(d, input, true, error) && replica_fetch(d->master, error);
}

static void dp_times(const struct parallel *p, int step, struct step_output *output)
{
	output->exposed_ns = timeline_took(((const struct dp *)p)->master->timeline, step, SUM);
}

static bool given_on(void *argument, int index, struct train_error *error)
{
	struct dp *d = argument;

	if (&d->replicas[index] != d->master)
		return take_parameters(d, index, error);
	return replica_written(d->master, d->progress, error) &&
	       d->master->device->backend->event_record(d->parameters_ready, error);
}

static bool dp_synchronize(struct parallel *p, const struct optimizer_progress *progress,
			   struct train_error *error)
{
	struct dp *d = (struct dp *)p;

	d->progress = progress;
	d->updates++;
	return dp_run(d, given_on, error);
}

static bool check_on(void *argument, int index, struct train_error *error)
{
	struct dp *d = argument;

	return replica_check(&d->replicas[index], d->input, &d->checks[index], error);
}

static bool dp_check(struct parallel *p, const struct step_input *input,
		     struct device_check *checks, struct train_error *error)
{
	struct dp *d = (struct dp *)p;

	d->input = input;
	d->checks = checks;
	return dp_run(d, check_on, error);
}

const struct parallel_calls parallel_dp = {
	.open = dp_open,
	.close = dp_close,
	.step = dp_step,
	.evaluate = dp_evaluate,
	.times = dp_times,
	.read = rank_read,
	.write = rank_write,
	.synchronize = dp_synchronize,
	.check = dp_check,
	.abort = rank_abort,
};
