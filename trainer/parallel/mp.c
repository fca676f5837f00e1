/* SPDX-License-Identifier: MIT */
/*
 * A stage of the model per rank. The passes of a step are micro-batches: stage s of S begins with
 * S - 1 - s forward passes, then does one backward for each forward ("1F1B": Narayanan et al.,
 * "PipeDream", SOSP'19), so at most S - s of them hold activations at a time.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "parallel/graph_segments.h"
#include "parallel/rank.h"
#include "parallel/stages.h"

struct mp {
	struct parallel base;
	struct replica replica;
	struct graph_segments segments;
	struct stage stages[TRAIN_MAX_STAGES];
	int slots;
	bool is_first, is_last;
	/* For parameters between host and ranks, a piece at a time. It is kept until the
	 * communicator is closed, since freeing memory would wait for messages that no rank may
	 * take. */
	void *carried;
	size_t carried_bytes;
};

enum { MAX_CARRIED = 1 << 22 };

static int64_t max_passes(const struct parallel_options *o)
{
	return o->settings->accumulate * o->settings->micro_batches;
}

static bool cut(struct mp *m, struct train_error *error)
{
	const struct parallel_options *o = &m->base.options;

	if (o->world > TRAIN_MAX_STAGES)
		return train_fail(error, TRAIN_BAD_INPUT, "%d stages; there can be %d", o->world,
				  (int)TRAIN_MAX_STAGES);
	m->is_first = o->rank == 0;
	m->is_last = o->rank == o->world - 1;
	m->slots = o->world - o->rank;
	if (m->slots > max_passes(o))
		m->slots = (int)max_passes(o);
	return stages_make(m->stages, o->world, o->spec, &m->base.shapes, o->settings->stages,
			   error);
}

/* Room for a parameter, or a piece of one. */
static bool open_carried(struct mp *m, struct train_error *error)
{
	const struct model_shapes *shapes = &m->base.shapes;
	struct device *device = m->replica.device;

	for (int i = 0; i < shapes->parameters_count; i++) {
		size_t bytes = (size_t)shapes->parameters[i].elements * sizeof(float);

		if (m->carried_bytes < bytes)
			m->carried_bytes = bytes;
	}
	if (m->carried_bytes > MAX_CARRIED)
		m->carried_bytes = MAX_CARRIED;
	m->carried = device->backend->allocate(device, m->carried_bytes, "parameters on their way",
					       error);
	return m->carried;
}

static bool mp_open(struct parallel **ret, const struct parallel_options *options,
		    struct train_error *error)
{
	struct mp *m = xcalloc(1, sizeof(*m));
	struct replica_options how = {.sharing = options->place->ranks, .learns = true};
	const struct stage *stage;

	*ret = &m->base;
	if (!rank_open(&m->base, &parallel_mp, options, error) || !cut(m, error))
		return false;
	stage = &m->stages[options->rank];
	how.place = rank_device(options, &how.index);
	how.first = stage->first;
	how.last = stage->last;
	how.rows = (options->batch + max_passes(options) - 1) / max_passes(options);
	how.slots = m->slots;
	how.passes = max_passes(options);
	if (!replica_open(&m->replica, &m->base.options, &how, error))
		return false;
	m->base.replica = &m->replica;
	m->base.batches_tracked = &m->replica.batches_tracked;
	replica_trace(&m->replica, m->base.timeline[0]);
	graph_segments_open(&m->segments, &m->replica, m->slots, m->is_last);
	rank_has(&m->base, &m->replica, stage->first, stage->last);
	rank_clock(&m->base, m->base.timeline[1], false);
	return open_carried(m, error) && rank_communicate(&m->base, m->replica.device, error);
}

static void mp_close(struct parallel *p)
{
	struct mp *m = (struct mp *)p;

	graph_segments_close(&m->segments);
	rank_close(p);
	if (m->replica.device)
		m->replica.device->backend->release(m->replica.device, m->carried);
	replica_close(&m->replica);
	free(m);
}

/* A step, or an evaluation, in progress in the stage. */
struct flow {
	struct mp *mp;
	bool test;
	int64_t passes;
};

#define RECEIVE "receive"

static bool take(struct mp *m, int from, void *values, size_t bytes, const char *what,
		 struct train_error *error)
{
	struct communicator *comm = m->base.comm;

	return RANK_SENDS(&m->base, RECEIVE,
			  comm->calls->receive(comm, from, values, bytes, what, error), error);
}

static bool give(struct mp *m, int to, const void *values, size_t bytes, const char *what,
		 struct train_error *error)
{
	struct communicator *comm = m->base.comm;

	return RANK_SENDS(&m->base, "send", comm->calls->send(comm, to, values, bytes, what, error),
			  error);
}

static bool forward(const struct flow *f, int64_t pass, struct train_error *error)
{
	struct mp *m = f->mp;
	struct replica *r = &m->replica;
	int rank = m->base.options.rank, slot = (int)(pass % m->slots);

	if (!m->is_first && !take(m, rank - 1, model_input(r->model, slot), r->model->input.bytes,
				  "activations", error))
		return false;
	if (!graph_segments_forward(&m->segments, pass, f->test, error))
		return false;
	return m->is_last || give(m, rank + 1, model_output(r->model, slot),
				  model_output_bytes(r->model), "activations", error);
}

static bool backward(const struct flow *f, int64_t pass, struct train_error *error)
{
	struct mp *m = f->mp;
	struct replica *r = &m->replica;
	int rank = m->base.options.rank;

	if (!m->is_last && !take(m, rank + 1, model_output_gradient(r->model),
				 model_output_bytes(r->model), "gradients of activations", error))
		return false;
	if (!graph_segments_backward(&m->segments, pass, f->passes, error))
		return false;
	return m->is_first || give(m, rank - 1, model_input_gradient(r->model),
				   r->model->input.bytes, "gradients of activations", error);
}

#define NORMS "norms"

_Static_assert(offsetof(struct gradient_measure, norms) ==
		       offsetof(struct gradient_measure, found_inf) + sizeof(float),
	       "found_inf and norms are GRADIENT_SUMS floats in a row");

/* Whether the stages sum their norms. */
static bool sums_norms(const struct mp *m)
{
	return replica_measures(&m->replica) && m->base.options.world > 1;
}

static bool sum_norms(struct mp *m, struct train_error *error)
{
	struct communicator *comm = m->base.comm;
	float *sums = &replica_results(&m->replica)->measure.found_inf;

	return RANK_SENDS(
		&m->base, NORMS,
		comm->calls->all_reduce(comm, sums, GRADIENT_SUMS, "the norms of gradients", error),
		error);
}

static bool update(struct mp *m, struct train_error *error)
{
	struct replica *r = &m->replica;

	if (!sums_norms(m))
		return graph_segments_update(&m->segments, error);
	return replica_measure(r, error) && sum_norms(m, error) && replica_norm(r, error) &&
	       replica_learn(r, error);
}

static bool mp_step(struct parallel *p, const struct step_input *input, struct train_error *error)
{
	struct mp *m = (struct mp *)p;
	struct flow f = {m, false, replica_pass_count(&m->replica, input)};
	int64_t ahead = p->options.world - 1 - p->options.rank, waited = p->comm->waited_ns;
	struct step_output *output = rank_submit(p);

	if (ahead > f.passes)
		ahead = f.passes;
	if (!replica_begin_all(&m->replica, input, f.test, error))
		return false;
	for (int64_t pass = 0; pass < ahead; pass++)
		if (!forward(&f, pass, error))
			return false;
	for (int64_t pass = 0; pass < f.passes; pass++) {
		if (pass + ahead < f.passes && !forward(&f, pass + ahead, error))
			return false;
		if (!backward(&f, pass, error))
			return false;
	}
	if (!update(m, error) || !replica_fetch(&m->replica, error))
		return false;
	output->waited_ns = p->comm->waited_ns - waited;
	return true;
}

static bool mp_evaluate(struct parallel *p, const struct step_input *input,
			struct train_error *error)
{
	struct mp *m = (struct mp *)p;
	struct flow f = {m, true, replica_pass_count(&m->replica, input)};

	rank_submit(p);
	if (!replica_begin_all(&m->replica, input, f.test, error))
		return false;
	for (int64_t pass = 0; pass < f.passes; pass++)
		if (!forward(&f, pass, error))
			return false;
	return replica_fetch(&m->replica, error);
}

static void mp_times(const struct parallel *p, int step, struct step_output *output)
{
	bool summed = sums_norms((const struct mp *)p);
	int64_t norms = summed ? timeline_took(p->timeline[1], step, NORMS) : 0;

	output->waited_ns = timeline_took(p->timeline[1], step, RECEIVE);
	if (norms < 0 || output->waited_ns < 0)
		output->waited_ns = -1;
	else
		output->waited_ns += norms;
}

/* What lies in one stage: a parameter, its part of a state, or a buffer. */
struct piece {
	int owner; /* the rank of the stage */
	size_t bytes;
};

static struct piece find_piece(const struct mp *m, int state, int index)
{
	const struct model_shapes *shapes = &m->base.shapes;
	const struct model_parameter *p =
		state == PARALLEL_BUFFERS ? &shapes->buffers[index] : &shapes->parameters[index];
	struct piece piece = {0, (size_t)p->elements * sizeof(float)};

	while (m->stages[piece.owner].last < p->layer)
		piece.owner++;
	return piece;
}

/* Sends host memory from one rank to another, through the memory of their devices, which is what
 * collectives send. */
static bool carry_piece(struct mp *m, int from, int to, void *host, size_t bytes,
			struct train_error *error)
{
	struct device *device = m->replica.device;
	const struct backend *backend = device->backend;

	if (m->base.comm->rank == from)
		return backend->write(device, m->carried, host, bytes, error) &&
		       give(m, to, m->carried, bytes, "a parameter", error);
	return take(m, from, m->carried, bytes, "a parameter", error) &&
	       backend->read(device, host, m->carried, bytes, error);
}

static bool carry(struct mp *m, int from, int to, size_t bytes, float *host,
		  struct train_error *error)
{
	for (size_t at = 0; at < bytes; at += m->carried_bytes) {
		size_t left = bytes - at, n = left < m->carried_bytes ? left : m->carried_bytes;

		if (!carry_piece(m, from, to, (char *)host + at, n, error))
			return false;
	}
	return true;
}

static bool mp_read(struct parallel *p, int state, int parameter, float *host,
		    struct train_error *error)
{
	struct mp *m = (struct mp *)p;
	const struct piece piece = find_piece(m, state, parameter);
	int rank = p->options.rank, from = piece.owner;
	CLEANUP_FREE float *own = rank && rank == from ? xmalloc(piece.bytes) : NULL;
	float *mine = rank ? own : host;

	if (rank != from && rank != 0)
		return true;
	return (rank != from || replica_read(&m->replica, state, parameter, mine, error)) &&
	       (from == 0 || carry(m, from, 0, piece.bytes, mine, error));
}

static bool mp_write(struct parallel *p, int state, int parameter, const float *host,
		     struct train_error *error)
{
	struct mp *m = (struct mp *)p;
	const struct piece piece = find_piece(m, state, parameter);
	int rank = p->options.rank, to = piece.owner;
	CLEANUP_FREE float *mine = NULL;

	if (rank == to && rank == 0)
		return replica_write(&m->replica, state, parameter, host, error);
	if (rank != to && rank != 0)
		return true;
	mine = xmalloc(piece.bytes);
	if (host)
		memcpy(mine, host, piece.bytes);
	return carry(m, 0, to, piece.bytes, mine, error) &&
	       (rank == 0 || replica_write(&m->replica, state, parameter, mine, error));
}

const struct parallel_calls parallel_mp = {
	.open = mp_open,
	.close = mp_close,
	.step = mp_step,
	.evaluate = mp_evaluate,
	.times = mp_times,
	.read = mp_read,
	.write = mp_write,
	.synchronize = rank_written,
	.abort = rank_abort,
};
