/* SPDX-License-Identifier: MIT */
/* See rank.h. */
#include "parallel/rank.h"

#include "parallel/agree.h"

enum { MAX_INTERVALS = 1 << 20 }; /* of a time line, 100 MB: those after are counted as lost */

/* Room for all operations of a rank in measured steps: each layer, the conversions before it and
 * the sums of gradients in each pass, and the buckets. */
static int interval_room(const struct parallel_options *o)
{
	const struct settings *settings = o->settings;
	int64_t passes =
		settings->accumulate * (settings->mode == MODE_MP ? settings->micro_batches : 1);
	int64_t each = passes * (10 * o->spec->count + 8) + 4 * o->spec->count + 8;

	return each * o->profiled < MAX_INTERVALS ? (int)(each * o->profiled) : MAX_INTERVALS;
}

const struct place_device *rank_device(const struct parallel_options *options, int *index)
{
	*index = options->place->ranks > 1 ? options->rank : 0;
	return &options->place->devices[*index];
}

bool rank_open(struct parallel *p, const struct parallel_calls *calls,
	       const struct parallel_options *options, struct train_error *error)
{
	int max = interval_room(options), index;
	const struct place_device *device = rank_device(options, &index);
	bool replicas = options->settings->mode == MODE_DP;
	int computing = replicas ? options->place->count : 1;

	p->calls = calls;
	p->options = *options;
	if (!model_shapes(&p->shapes, options->spec, error))
		return false;
	for (int i = 0; i <= computing && max > 0; i++, p->timelines++)
		p->timeline[i] = timeline_open(
			replicas ? i % computing : options->rank,
			device[replicas ? i % computing : 0].physical,
			i < computing ? TIMELINE_COMPUTE : TIMELINE_COMMUNICATION, max);
	return true;
}

void rank_close(struct parallel *p)
{
	step_graph_close(p->evaluations);
	if (p->comm)
		p->comm->calls->close(p->comm);
	for (int i = 0; i < p->timelines; i++)
		timeline_close(p->timeline[i]);
}

struct step_output *rank_submit(struct parallel *p)
{
	int index = p->submitted++ % MAX_FETCH;

	p->outputs[index] = (struct step_output){.finite = true};
	p->profiled[index] = timeline_at(p->timeline[0]);
	return &p->outputs[index];
}

bool rank_has_streams(const struct parallel *p)
{
	return p->device[0]->backend->mark;
}

static int64_t sums_mark(void *argument)
{
	struct communicator *comm = argument;

	return comm->calls->mark(comm);
}

/* The replica's own time line is settled last, as this forgets the marks. */
static int64_t device_ns(void *argument, int64_t mark)
{
	return mark ? replica_mark_ns(argument, mark) : 0;
}

static int64_t sums_ns(void *argument, int64_t mark)
{
	return device_ns(((struct communicator *)argument)->device, mark);
}

void rank_clock(struct parallel *p, struct timeline *timeline, bool sums)
{
	if (!rank_has_streams(p))
		return;
	timeline_clock(timeline,
		       sums && p->comm->calls->mark
			       ? &(struct timeline_clock){sums_mark, sums_ns, p->comm}
			       : &(struct timeline_clock){replica_mark, device_ns, p->device[0]});
}

static int64_t add_times(int64_t a, int64_t b)
{
	return a < 0 || b < 0 ? -1 : a + b;
}

bool parallel_result(struct parallel *p, struct step_output *output, struct train_error *error)
{
	int index = p->completed++ % MAX_FETCH;

	output->exposed_ns = add_times(output->exposed_ns, p->outputs[index].exposed_ns);
	output->waited_ns = add_times(output->waited_ns, p->outputs[index].waited_ns);
	if (!replica_take(p->replica, output, error))
		return false;
	for (int i = p->timelines - 1; i >= 0; i--)
		timeline_settle(p->timeline[i]);
	if (p->calls->times && rank_has_streams(p))
		p->calls->times(p, p->profiled[index], output);
	return true;
}

bool rank_read(struct parallel *p, int state, int parameter, float *host, struct train_error *error)
{
	return !host || replica_read(p->replica, state, parameter, host, error);
}

bool rank_write(struct parallel *p, int state, int parameter, const float *host,
		struct train_error *error)
{
	return !host || replica_write(p->replica, state, parameter, host, error);
}

bool rank_written(struct parallel *p, const struct optimizer_progress *progress,
		  struct train_error *error)
{
	return replica_written(p->replica, progress, error);
}

void rank_has(struct parallel *p, const struct replica *replica, int first, int last)
{
	p->first_layer[p->devices] = first;
	p->last_layer[p->devices] = last;
	p->device[p->devices++] = replica->device;
}

bool rank_communicate(struct parallel *p, struct device *device, struct train_error *error)
{
	return p->options.collective->open(&p->comm, p->options.rendezvous, p->options.rank, device,
					   error) &&
	       config_agree(p, error);
}

void rank_abort(struct parallel *p, const struct train_error *why)
{
	if (p->comm)
		p->comm->calls->abort(p->comm, why);
}

static bool issue_evaluation(void *replica, const struct graph_step *step,
			     struct train_error *error)
{
	return replica_evaluate(replica, step->passes, error);
}

bool rank_evaluate(struct parallel *p, const struct step_input *input, struct train_error *error)
{
	const struct graph_step step = {.passes = replica_pass_count(p->replica, input)};

	rank_submit(p);
	return replica_begin_all(p->replica, input, true, error) &&
	       step_graph_run(p->evaluations, &step, error) && replica_fetch(p->replica, error);
}

bool rank_full_replica(struct parallel *p, struct replica *replica, bool alone,
		       struct train_error *error)
{
	const struct parallel_options *o = &p->options;
	int64_t passes = o->settings->accumulate;
	struct replica_options how = {
		.sharing = o->place->ranks,
		.last = o->spec->count - 1,
		.rows = (o->batch + passes - 1) / passes,
		.slots = 1,
		.passes = passes,
		.learns = true,
		.alone = alone,
	};

	how.place = rank_device(o, &how.index);
	if (!replica_open(replica, o, &how, error))
		return false;
	p->replica = replica;
	p->batches_tracked = &replica->batches_tracked;
	replica_trace(replica, p->timeline[0]);
	rank_has(p, replica, how.first, how.last);
	p->evaluations = replica_graph(replica, issue_evaluation, replica);
	return rank_communicate(p, replica->device, error) && layout_agree(p, replica, error);
}
