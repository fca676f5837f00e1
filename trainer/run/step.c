/* SPDX-License-Identifier: MIT */
/* A step: its samples, its submission, and what is reported when its results are there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "memory.h"
#include "run/run.h"
#include "run/step_metrics.h"
#include "run/stop.h"

static void scale_after(struct run *r, const struct step_output *output, struct step_metrics *m)
{
	if (r->scaled) {
		m->scale = (double)r->scaler.scale;
		scaler_update(&r->scaler, output->finite);
	}
	m->skipped = !output->finite;
	r->optimizer_step += output->finite;
}

static void record(struct run *r, bool begin)
{
	bool now = begin && r->submitted > RUN_NOT_PROFILED &&
		   r->profiled < r->settings->profile_steps;

	r->profiled += now;
	for (int i = 0; i < r->parallel->timelines; i++)
		timeline_step(r->parallel->timeline[i], now ? (int)r->step + 1 : -1);
}

/* The results of all ranks for the oldest step that is not written yet. */
static bool write_gathered(struct run *r, const struct step_share *all, int *stop,
			   struct train_error *error)
{
	struct step_metrics *m = &r->pending[r->gathered++ % MAX_FETCH].metrics;

	step_metrics_add_up(m, all, r->comm->world, stop);
	if (r->metrics && !metrics_step(r->metrics, m, error))
		return false;
	r->reported_step = m->step;
	return true;
}

static bool finish_gather(struct run *r, int *stop, struct train_error *error)
{
	CLEANUP_FREE struct step_share *all = NULL;

	if (r->gathered == r->completed)
		return true;
	all = xmalloc((size_t)r->comm->world * sizeof(*all));
	return r->comm->calls->gather_end(r->comm, all, error) &&
	       write_gathered(r, all, stop, error);
}

/* Shares the submitted step's results between ranks, and collects these or those of the step
 * before. */
static bool share(struct run *r, const struct step_share *mine, int *stop,
		  struct train_error *error)
{
	const struct collective *calls = r->comm->calls;
	CLEANUP_FREE struct step_share *all = NULL;

	if (calls->gather_begin)
		return calls->gather_begin(r->comm, mine, sizeof(*mine), "metrics", error);
	all = gather_all(r->comm, mine, sizeof(*mine), "metrics", error);
	return all && write_gathered(r, all, stop, error);
}

/* Waits for the result of the oldest step. */
static bool complete_oldest(struct run *r, int *stop, struct train_error *error)
{
	struct run_pending *pending = &r->pending[r->completed % MAX_FETCH];
	struct step_metrics *m = &pending->metrics;
	struct step_output output = {.finite = true, .norm = NAN};
	int64_t begin = pending->begin_ns > r->result_ns ? pending->begin_ns : r->result_ns;
	struct step_share mine;

	if (!parallel_result(r->parallel, &output, error))
		return false;
	r->result_ns = clock_ns();
	if (!finish_gather(r, stop, error))
		return false;
	r->completed++;
	mine = (struct step_share){output.loss, output.correct, -1, output.exposed_ns,
				   stop_asked()};
	r->counted++;
	if (output.waited_ns >= 0) {
		mine.own_ns = r->result_ns - begin - output.waited_ns;
		r->timed++;
		r->own_ns += mine.own_ns;
		r->waited_ns += output.waited_ns;
	}
	scale_after(r, &output, m);
	m->gradient_norm = output.norm;
	m->seconds = (double)(r->result_ns - r->last_ns) * 1e-9;
	r->last_ns = r->result_ns;
	return share(r, &mine, stop, error);
}

bool run_settle(struct run *r, int *stop, struct train_error *error)
{
	while (r->completed < r->submitted)
		if (!complete_oldest(r, stop, error))
			return false;
	return finish_gather(r, stop, error);
}

static void print_remark(struct parallel *parallel, int rank)
{
	if (*parallel->remark && rank == 0)
		fprintf(stderr, "gpumap-train: remark: %s\n", parallel->remark);
	*parallel->remark = '\0';
}

bool run_next_step(struct run *r, int *stop, struct train_error *error)
{
	bool parted = r->settings->mode == MODE_DDP;
	struct sampler_batch batch =
		sampler_batch(&r->sampler, parted ? r->rank : 0, r->epoch_step, r->indices);
	const struct step_input input = {
		.epoch = r->epoch,
		.indices = r->indices,
		.count = batch.count,
		.of_all = batch.of_all,
		.rates = schedule_at(&r->schedule, r->step),
	};
	struct run_pending *pending = &r->pending[r->submitted++ % MAX_FETCH];
	bool done;

	pending->begin_ns = clock_ns();
	pending->metrics = (struct step_metrics){.step = r->step + 1,
						 .epoch = r->epoch,
						 .samples = batch.of_all,
						 .lr = input.rates.lr};
	record(r, true);
	done = r->parallel->calls->step(r->parallel, &input, error);
	record(r, false);
	print_remark(r->parallel, r->rank);
	r->epoch_step++;
	r->step++;
	while (done && r->submitted - r->completed > r->ahead)
		done = complete_oldest(r, stop, error);
	return done;
}

/* This rank's part of the test data: in ddp every world-th sample. */
static bool evaluate_part(struct run *r, struct step_output *output, struct train_error *error)
{
	int64_t stride = r->training->sampler_ranks, samples = r->training->test.samples;
	int64_t next = r->settings->mode == MODE_DDP ? r->rank : 0;
	struct step_input input = {.indices = r->indices, .of_all = 1};

	while (next < samples) {
		input.count = 0;
		for (; next < samples && input.count < r->training->rank_batch; next += stride)
			r->indices[input.count++] = next;
		if (!r->parallel->calls->evaluate(r->parallel, &input, error) ||
		    !parallel_result(r->parallel, output, error))
			return false;
	}
	return true;
}

bool run_evaluate(struct run *r, int64_t epoch, struct train_error *error)
{
	struct step_output output = {.finite = true};
	struct evaluation_metrics m = {
		.step = r->step, .epoch = epoch, .samples = r->training->test.samples};
	struct step_share mine = {.loss = 0};
	CLEANUP_FREE struct step_share *all = NULL;
	int64_t correct = 0;

	if (!evaluate_part(r, &output, error))
		return false;
	mine.loss = output.loss;
	mine.correct = output.correct;
	all = gather_all(r->comm, &mine, sizeof(mine), "metrics", error);
	if (!all)
		return false;
	for (int i = 0; i < r->comm->world; i++) {
		m.loss += all[i].loss;
		correct += all[i].correct;
	}
	m.loss /= (double)m.samples;
	m.accuracy = (double)correct / (double)m.samples;
	r->last_ns = clock_ns();
	m.seconds = (double)(r->last_ns - r->training->started_ns) * 1e-9;
	return !r->metrics || metrics_evaluation(r->metrics, &m, error);
}
