/* SPDX-License-Identifier: MIT */
/* A replica per rank: each computes its part of the batch, and the sums of the gradients keep all
 * replicas alike. */
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "parallel/graph_segments.h"
#include "parallel/rank.h"
#include "parallel/reducer.h"
#include "parallel/sync_batch_norm.h"
#include "place/cores.h"

struct ddp {
	struct parallel base;
	struct replica replica;
	struct reducer *reducer;
	struct model_watch watch;
	bool overlap;
	struct step_graph *steps;
	struct graph_segments segments; /* if the communicator is not recorded */
	struct step_output *output;     /* of the step that is being submitted */
	struct batch_ranks ranks;       /* for --sync-batch-norm; without gather: none */
	bool buffers_alike;             /* known to be; the same on all ranks */
};

/* If there is a free core, a thread that sends costs nothing; otherwise it competes with backward
 * and gains nothing (bench/README.md). */
static bool overlaps(const struct parallel_options *o)
{
	if (o->settings->sync_batch_norm && o->collective->waits)
		return false; /* backward needs the communicator, which a thread would have */
	if (o->settings->overlap != OVERLAP_AUTO)
		return o->settings->overlap == OVERLAP_YES;
	return !o->collective->waits ||
	       cores_spare(&o->cpus, o->place->ranks, replica_processes(o), o->settings->threads);
}

static bool issue_step(void *argument, const struct graph_step *step, struct train_error *error)
{
	struct ddp *d = argument;

	return replica_passes(&d->replica, step->passes, &d->watch, error) &&
	       reducer_wait(d->reducer, &d->output->exposed_ns, error) &&
	       replica_update(&d->replica, error);
}

/* Ranks that normalize batches as one wait within forward and backward, so no pass is a segment. */
static bool pass_segments(struct ddp *d, int64_t passes, struct train_error *error)
{
	int64_t last = passes - 1;

	if (d->ranks.gather)
		return replica_passes(&d->replica, passes, &d->watch, error);
	for (int64_t pass = 0; pass < last; pass++)
		if (!graph_segments_forward(&d->segments, pass, false, error) ||
		    !graph_segments_backward(&d->segments, pass, passes, error))
			return false;
	return graph_segments_forward(&d->segments, last, false, error) &&
	       replica_backward(&d->replica, 0, last, passes, &d->watch, error);
}

static bool run_segments(void *argument, const struct graph_step *step, struct train_error *error)
{
	struct ddp *d = argument;

	return pass_segments(d, step->passes, error) &&
	       reducer_wait(d->reducer, &d->output->exposed_ns, error) &&
	       graph_segments_update(&d->segments, error);
}

/* The rank that failed knows why. */
static void remark_segments(struct ddp *d, const struct train_error *why)
{
	snprintf(d->base.remark, sizeof(d->base.remark),
		 "%s, which takes a GPU longer with small batches: %s%s",
		 d->ranks.gather ? "only the updates of steps are recorded"
				 : "steps are recorded in segments",
		 why ? "" : "another rank cannot record a step with its sums",
		 why ? why->text : "");
}

static bool recorded(void *argument, const struct train_error *why, bool *all,
		     struct train_error *error)
{
	struct ddp *d = argument;
	struct communicator *comm = d->base.comm;

	if (!comm->calls->recorded(comm, why, all, error))
		return false;
	if (*all)
		return true;
	reducer_restart(d->reducer);
	remark_segments(d, why);
	return true;
}

static void open_graphs(struct ddp *d)
{
	const struct step_graph_options steps = {
		.device = d->replica.device,
		.issue = issue_step,
		.argument = d,
		.turn = &d->replica.inputs.turn,
		.recorded = d->base.comm->calls->recorded ? recorded : NULL,
		.instead = run_segments,
	};

	d->steps = step_graph_open(&steps);
	graph_segments_open(&d->segments, &d->replica, 1, true);
}

static bool ddp_open(struct parallel **ret, const struct parallel_options *options,
		     struct train_error *error)
{
	const struct settings *settings = options->settings;
	struct ddp *d = xcalloc(1, sizeof(*d));
	struct buckets buckets;
	struct reducer_options how = {.buckets = &buckets, .overlap = overlaps(options)};

	*ret = &d->base;
	d->overlap = how.overlap;
	if (!rank_open(&d->base, &parallel_ddp, options, error) ||
	    !rank_full_replica(&d->base, &d->replica, false, error) ||
	    (settings->sync_batch_norm &&
	     !sync_batch_norm(&d->ranks, &d->base, d->replica.model, error)))
		return false;
	buckets_make(&buckets, &d->base.shapes, settings->first_bucket_mib * (1 << 20),
		     settings->bucket_mib * (1 << 20));
	how.comm = d->base.comm;
	how.gradients = d->replica.model->gradients;
	how.cpus = &d->base.options.cpus;
	how.timeline = d->base.timeline[1];
	rank_clock(&d->base, how.timeline, true);
	if (rank_has_streams(&d->base) && d->base.comm->calls->mark)
		how.device = d->base.timeline[0];
	if (!reducer_open(&d->reducer, &how, error))
		return false;
	d->watch = (struct model_watch){.ready = reducer_ready, .argument = d->reducer};
	open_graphs(d);
	return true;
}

static void ddp_close(struct parallel *p)
{
	struct ddp *d = (struct ddp *)p;

	graph_segments_close(&d->segments);
	step_graph_close(d->steps);
	reducer_close(d->reducer);
	rank_close(p);
	replica_close(&d->replica);
	free(d);
}

/* DistributedDataParallel's broadcast_buffers: before a forward pass all ranks take rank 0's
 * running statistics, unless the pass before was one of accumulation, in which nothing is sent. So
 * this happens before a step, and before a test. Ranks that normalize together move theirs by the
 * same bits, so they take them once. */
static bool take_buffers(struct ddp *d, struct train_error *error)
{
	struct communicator *comm = d->base.comm;
	const struct model *model = d->replica.model;
	size_t bytes = (size_t)model->buffer_elements * sizeof(float);
	static const char what[] = "running statistics";

	if (bytes == 0 || d->base.options.world == 1 || d->buffers_alike)
		return true;
	if (!RANK_SENDS(&d->base, what,
			comm->calls->broadcast(comm, model->buffers, bytes, 0, what, error), error))
		return false;
	d->buffers_alike = d->ranks.gather;
	return true;
}

static bool run_graph_or_segments(struct ddp *d, const struct step_input *input,
				  struct train_error *error)
{
	const struct graph_step step = {
		.passes = replica_pass_count(&d->replica, input),
		.of_all = input->of_all,
		.as_is = timeline_on(d->base.timeline[0]),
	};

	return d->base.comm->calls->records ? step_graph_run(d->steps, &step, error)
					    : run_segments(d, &step, error);
}

static bool ddp_step(struct parallel *p, const struct step_input *input, struct train_error *error)
{
	struct ddp *d = (struct ddp *)p;
	int64_t waited = p->comm->waited_ns;

	d->output = rank_submit(p);
	if (!replica_begin_all(&d->replica, input, false, error) || !take_buffers(d, error) ||
	    !run_graph_or_segments(d, input, error) || !replica_fetch(&d->replica, error))
		return false;
	/* Time that another thread waits does not count. */
	d->output->waited_ns = d->overlap ? d->output->exposed_ns : p->comm->waited_ns - waited;
	if (rank_has_streams(p))
		d->output->exposed_ns = d->output->waited_ns = 0;
	return true;
}

static bool ddp_evaluate(struct parallel *p, const struct step_input *input,
			 struct train_error *error)
{
	return take_buffers((struct ddp *)p, error) && rank_evaluate(p, input, error);
}

/* If the communicator uses the device's stream, waiting for the device includes its work. */
static void ddp_times(const struct parallel *p, int step, struct step_output *output)
{
	output->exposed_ns = output->waited_ns =
		p->comm->calls->mark ? timeline_took(p->timeline[0], step, REDUCER_WAIT)
				     : timeline_took(p->timeline[1], step, NULL);
}

/* Sends rank 0's parameters to all, as DistributedDataParallel's constructor does, and its state;
 * its buffers go before the first step. */
static bool ddp_synchronize(struct parallel *p, const struct optimizer_progress *progress,
			    struct train_error *error)
{
	struct ddp *d = (struct ddp *)p;
	struct replica *r = &d->replica;
	size_t bytes = (size_t)r->model->elements * sizeof(float);

	d->buffers_alike = false; /* rank 0's may have been written */
	if (!collective_fork(p->comm, error))
		return false;
	for (int state = -1; replica_flat(r, state); state++)
		if (!p->comm->calls->broadcast(p->comm, replica_flat(r, state), bytes, 0,
					       state < 0 ? "parameters" : "the optimizer's state",
					       error))
			return false;
	return collective_join(p->comm, error) && replica_written(r, progress, error);
}

static bool ddp_check(struct parallel *p, const struct step_input *input,
		      struct device_check *checks, struct train_error *error)
{
	struct ddp *d = (struct ddp *)p;
	bool done;

	/* What a device computes must not depend on others, nor do its running statistics then. */
	d->buffers_alike = false;
	model_normalize_with(d->replica.model, NULL);
	done = replica_check(&d->replica, input, checks, error);
	model_normalize_with(d->replica.model, d->ranks.gather ? &d->ranks : NULL);
	return done;
}

const struct parallel_calls parallel_ddp = {
	.open = ddp_open,
	.close = ddp_close,
	.step = ddp_step,
	.evaluate = ddp_evaluate,
	.times = ddp_times,
	.read = rank_read,
	.write = rank_write,
	.synchronize = ddp_synchronize,
	.check = ddp_check,
	.abort = rank_abort,
};
