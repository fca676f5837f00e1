/* SPDX-License-Identifier: MIT */
/* A rank from its first step to its last: epochs, tests, checkpoints, and the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/names.h"
#include "base/clock.h"
#include "memory.h"
#include "run/run.h"
#include "run/stop.h"

static bool open_sampler(struct run *r, struct train_error *error)
{
	const struct training *t = r->training;
	struct sampler_options options = {
		.order = r->settings->sampler,
		.tail = r->settings->tail,
		.drop_last = r->settings->drop_last,
		.samples = t->train.samples,
		.ranks = t->sampler_ranks,
		.batch = t->rank_batch,
		.seed = r->settings->seed,
	};

	random_seed(&options.generator, r->settings->seed);
	if (options.order == SAMPLER_RANDOM)
		for (int64_t i = 0; i < r->parallel->shapes.elements; i++)
			random_u32(&options.generator);
	return sampler_init(&r->sampler, &options, error);
}

static int64_t steps_in_all(const struct settings *s, int64_t epoch_steps)
{
	int64_t steps = s->epochs * epoch_steps;

	return s->steps && (s->epochs == 0 || s->steps < steps) ? s->steps : steps;
}

static void open_schedule(struct run *r)
{
	const struct settings *s = r->settings;
	struct rates rates = {s->lr, s->optimizer.momentum};

	r->steps = steps_in_all(s, r->sampler.steps);
	r->schedule = schedule_default(s->schedule, r->steps, rates);
	r->schedule.lr_min = s->lr_min;
	r->schedule.warmup = s->warmup;
}

static bool open_metrics(struct run *r, struct train_error *error)
{
	const struct settings *s = r->settings;
	char title[160];
	struct metrics_options options = {
		.progress = s->progress,
		.file = s->metrics,
		.keep = r->history,
		.plot = s->plot,
		.title = title,
		.epochs = s->burn_ms ? 0 : (r->steps + r->sampler.steps - 1) / r->sampler.steps,
		.epoch_steps = s->burn_ms ? 0 : r->sampler.steps,
		.steps = s->burn_ms ? 0 : r->steps,
		.done = r->step,
		.seconds = (double)s->burn_ms * 1e-3,
		.ranks = r->training->place.world,
	};
	static const char *const modes[] = {"single", "dp", "ddp", "mp"};

	snprintf(title, sizeof(title), "%s, %s, global batch %lld, %s", s->model, modes[s->mode],
		 (long long)r->training->global_batch, value_name(r->training->precision));
	return metrics_open(&r->metrics, &options, error);
}

/* Repeated samples can make one more step in an epoch. */
static int64_t max_profiled(const struct training *t)
{
	const struct settings *s = t->settings;
	int64_t epoch = (t->train.samples + t->sampler_ranks) / t->global_batch + 1;
	int64_t steps = steps_in_all(s, epoch) - RUN_NOT_PROFILED;

	return steps < s->profile_steps ? (steps > 0 ? steps : 0) : s->profile_steps;
}

/* In a burn test the gradients must have the same bits in each step. Small ones of float16 should
 * not vanish, and large ones not overflow. */
static struct scaler first_scaler(const struct settings *s)
{
	if (!s->burn_ms)
		return scaler_default();
	return scaler_constant(s->precision == VALUE_FLOAT16 ? 1024 : 1);
}

static bool open_all(struct run *r, struct train_error *error)
{
	struct training *t = r->training;
	const struct parallel_options options = {
		.settings = r->settings,
		.place = &t->place,
		.backend = t->backend,
		.spec = t->spec,
		.train = &t->train,
		.test = &t->test,
		.rank = r->rank,
		.world = t->place.world,
		.rendezvous = t->rendezvous,
		.collective = t->collective,
		.batch = t->rank_batch,
		.profiled = max_profiled(t),
		.precision = t->precision,
		.cpus = t->cpus,
		.failed = stop_failed,
	};

	if (!parallel_find(r->settings->mode)->open(&r->parallel, &options, error))
		return false;
	r->comm = r->parallel->comm;
	r->scaler = first_scaler(r->settings);
	r->scaled = r->settings->precision == VALUE_FLOAT16;
	/* In timed steps no work of the next step may begin. */
	r->ahead = r->settings->profile_steps ? 0 : t->backend->ahead;
	r->indices = xmalloc((size_t)t->rank_batch * sizeof(*r->indices));
	if (!open_sampler(r, error))
		return false;
	open_schedule(r);
	return run_begin(r, error);
}

/* Opens rank 0's files, so that errors come before the first step. */
static bool open_files(struct run *r, struct train_error *error)
{
	const char *folder = r->settings->checkpoint;

	if (r->rank != 0)
		return true;
	if (folder && !r->settings->resume && !checkpoint_none(folder, error))
		return false;
	return (!folder || checkpoint_try(folder, error)) && open_metrics(r, error);
}

static bool epoch_end(struct run *r, struct train_error *error)
{
	int64_t every = r->settings->evaluate_every;

	r->epoch++;
	r->epoch_step = 0;
	if (every > 0 && (r->epoch % every == 0 || r->step == r->steps) &&
	    !run_evaluate(r, r->epoch - 1, error))
		return false;
	sampler_set_epoch(&r->sampler, r->epoch);
	return true;
}

/* Waits for the results of a series of steps, which are needed next. */
static bool is_end(const struct run *r)
{
	int64_t every = r->settings->checkpoint_every;

	return r->step == r->steps || r->epoch_step == r->sampler.steps ||
	       (every > 0 && r->step % every == 0);
}

static bool is_time_to_save(const struct run *r, int stop)
{
	int64_t every = r->settings->checkpoint_every;

	if (!r->settings->checkpoint)
		return false;
	return stop || r->step == r->steps ||
	       (every > 0 ? r->step % every == 0 : r->epoch_step == 0);
}

/* --steps can end a run within an epoch. This last test is not in the checkpoint, so that a resumed
 * run is like one that did not end. */
static bool test_at_end(struct run *r, struct train_error *error)
{
	return r->epoch_step == 0 || r->settings->evaluate_every == 0 ||
	       run_evaluate(r, r->epoch, error);
}

/* On a GPU the failed step may be any one since the last reported. The reason of another rank has
 * its step. */
static bool after_step(const struct run *r, struct train_error *error)
{
	static const char known[] = "; after step ";
	size_t n = strlen(error->text);

	if (error->status == TRAIN_FAILED && !backend_simulates(r->training->backend->name) &&
	    !strstr(error->text, known))
		snprintf(error->text + n, sizeof(error->text) - n, "%s%lld", known,
			 (long long)r->reported_step);
	return false;
}

static bool train(struct run *r, struct train_error *error)
{
	int stop = 0;

	r->last_ns = clock_ns();
	stop_later();
	while (r->step < r->steps && !stop) {
		if (!run_next_step(r, &stop, error) ||
		    ((stop || is_end(r) || run_verify_due(r)) && !run_settle(r, &stop, error)) ||
		    (run_verify_due(r) && !run_verify(r, false, error)) ||
		    (r->epoch_step == r->sampler.steps && !epoch_end(r, error)) ||
		    (is_time_to_save(r, stop) && !run_save(r, error)))
			return false;
	}
	r->stopped = r->step < r->steps ? stop : 0;
	return r->step < r->steps || test_at_end(r, error);
}

/* Tables must not follow a bar on its line. */
static bool finish(struct run *r, struct train_error *error)
{
	metrics_end(r->metrics);
	return run_verify(r, true, error) && run_finish(r, error);
}

/* Finishes the open parts. A run that was complete before its resume changes nothing, except for
 * the test, which no checkpoint records: it may have been killed before that. */
static bool go(struct run *r, struct train_error *error)
{
	sampler_set_epoch(&r->sampler, r->epoch);
	if (r->settings->burn_ms)
		return open_files(r, error) && run_report_places(r, error) &&
		       (run_burn(r, error) || after_step(r, error));
	if (r->step < r->steps)
		return open_files(r, error) && run_report_places(r, error) &&
		       ((train(r, error) && finish(r, error)) || after_step(r, error));
	if (r->rank == 0)
		fprintf(stderr,
			"gpumap-train: remark: %s: all %lld steps are done; to continue give more "
			"--epochs or --steps\n",
			r->settings->checkpoint, (long long)r->steps);
	return r->epoch_step == 0 || (open_files(r, error) && test_at_end(r, error));
}

static void close_all(struct run *r)
{
	free(r->begun_with);
	free(r->indices);
	sampler_free(&r->sampler);
	if (r->parallel)
		r->parallel->calls->close(r->parallel);
}

bool training_rank(struct training *training, int rank, int *stopped, struct train_error *error)
{
	struct run r = {.training = training, .settings = training->settings, .rank = rank};
	bool done = open_all(&r, error) && go(&r, error);
	bool reported = r.metrics != NULL;

	metrics_end(r.metrics);
	if (!done) {
		train_fail(error, TRAIN_FAILED, "rank %d failed without a reason", rank);
		training_failed(training, r.parallel, rank, error);
	}
	if (!metrics_close(r.metrics, error))
		done = false;
	if (done && reported)
		done = run_report_saved(&r, error);
	*stopped = r.stopped;
	close_all(&r);
	return done;
}
