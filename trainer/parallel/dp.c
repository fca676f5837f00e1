/* SPDX-License-Identifier: MIT */
/*
 * One process, a replica on each device, each with a thread: what nn.DataParallel does. The order
 * between devices is kept by events, so that it is the same with real streams.
 *
 * nn.DataParallel gives the parameters to all replicas before each forward pass; here it is done
 * after the optimizer's step, which is the same.
 */
#include <stdlib.h>

#include "parallel/dp.h"

/* Rule G6, torch.chunk: chunks of ceil(n / replicas) until none are left. */
int64_t dp_chunk(int64_t count, int replicas, int index, int64_t *first)
{
	int64_t size = (count + replicas - 1) / replicas, left;

	*first = size * index < count ? size * index : count;
	left = count - *first;
	return left < size ? left : size;
}

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
			       .result = &d->master->results->loss};

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

		replica_tell(r, pass, &rows);
	}
	return replica_begin(r, d->input, error) && replica_clear(r, error);
}

/* A pass of one replica; the master's thread computes the loss between. */
static bool pass_on(void *argument, int index, struct train_error *error)
{
	struct dp *d = argument;
	struct replica *r = &d->replicas[index];
	const struct backend *backend = r->device->backend;

	/* In training the gradient is waited for; here the master may still copy what was put out.
	 */
	if (d->test && d->pass > 0 && r != d->master &&
	    !backend->event_wait(r->device, d->loss_done, d->passes - 1, error))
		return false;
	if ((d->pass == 0 && !begin_on(d, index, error)) ||
	    !pieces_forward(&d->pieces[index], d->pass, d->test, error) ||
	    !backend->event_record(d->forward_done[index], error))
		return false;
	if (r == d->master && !gather_and_loss(d, !d->test, error))
		return false;
	if (d->test)
		return true;
	return scatter_gradient(d, index, error) &&
	       pieces_backward(&d->pieces[index], d->pass, d->pass_total, error);
}

#define SUM "sum of gradients"

/* Sums gradients on the master in the order of the devices. */
static bool sum_gradients(struct dp *d, struct train_error *error)
{
	struct device *master = d->master->device;
	const struct backend *backend = master->backend;
	float *sum = model_gradients(d->master->model);
	size_t bytes = (size_t)d->elements * sizeof(*sum);
	int64_t begin = timeline_now(), at = timeline_begin(d->master->timeline);

	for (int i = 0; i < d->count; i++) {
		struct replica *r = &d->replicas[i];

		if (r != d->master &&
		    (!backend->event_wait(master, d->gradients_done[i], d->steps, error) ||
		     !backend->copy(master, d->received, r->device, model_gradients(r->model),
				    bytes, error) ||
		     !backend->add(master, sum, d->received, d->elements, error)))
			return false;
	}
	d->issued->exposed_ns += timeline_now() - begin;
	timeline_add(d->master->timeline, SUM, at);
	return true;
}

static bool take_parameters(struct dp *d, int index, struct train_error *error)
{
	struct replica *r = &d->replicas[index];
	const struct backend *backend = r->device->backend;
	int64_t begin = timeline_begin(r->timeline);

	if (!backend->event_wait(r->device, d->parameters_ready, d->updates, error) ||
	    !backend->copy(r->device, model_values(r->model), d->master->device,
			   model_values(d->master->model), (size_t)d->elements * sizeof(float),
			   error))
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
	return sum_gradients(d, error) && pieces_update(&d->pieces[index], error) &&
	       replica_fetch(d->master, error) &&
	       d->master->device->backend->event_record(d->parameters_ready, error);
}

/* On the master: what the loss needs of all passes. */
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
	d->issued = rank_issue(&d->base);
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

static bool dp_result(struct parallel *p, struct step_output *output, struct train_error *error)
{
	struct dp *d = (struct dp *)p;
	int step;

	if (!rank_result_of(p, d->master, output, &step, error))
		return false;
	if (rank_has_streams(p))
		output->exposed_ns = step < 0 ? -1 : timeline_took(d->master->timeline, step, SUM);
	return true;
}

static bool dp_read(struct parallel *p, int state, int parameter, float *host,
		    struct train_error *error)
{
	return replica_read(((struct dp *)p)->master, state, parameter, host, error);
}

static bool dp_write(struct parallel *p, int state, int parameter, const float *host,
		     struct train_error *error)
{
	return replica_write(((struct dp *)p)->master, state, parameter, host, error);
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

const struct parallel_calls parallel_dp = {
	.open = dp_open,
	.close = dp_close,
	.step = dp_step,
	.evaluate = dp_evaluate,
	.result = dp_result,
	.read = dp_read,
	.write = dp_write,
	.synchronize = dp_synchronize,
	.abort = dp_abort,
};
