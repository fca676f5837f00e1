/* SPDX-License-Identifier: MIT */
/* The weights and the progress that a run begins with: first ones, a file, or a checkpoint. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "data/first_weights.h"
#include "memory.h"
#include "run/resume_check.h"
#include "run/host_state.h"

/* --- the beginning of a run ------------------------------------------------------------------ */

static void fill(const struct tensor *tensor, float value)
{
	for (int64_t i = 0; i < tensor_elements(&tensor->shape); i++)
		tensor->data[i] = value;
}

/* Layer by layer, as PyTorch constructs them; host memory is zero before. torchvision's ResNets
 * draw the weights of convolutions anew when all layers exist. */
static void initialise(struct host_state *s, const struct run *r)
{
	const struct model_shapes *shapes = &r->parallel->shapes;
	const struct model_spec *spec = r->training->spec;
	struct random_generator generator;

	random_seed(&generator, r->settings->seed);
	for (int i = 0; i < spec->count; i++) {
		const struct layer_shape *at = &shapes->layers[i];
		struct tensor *weight = at->parameters < 0 ? NULL : &s->tensors[at->parameters];

		if (at->buffers >= 0) {
			fill(weight, 1);
			fill(&s->buffer[at->buffers + 1], 1); /* the variance */
		} else if (spec->layers[i].kaiming) {
			random_skip(&generator, tensor_elements(&weight->shape));
		} else if (at->parameters >= 0) {
			init_layer(&generator, weight, at->parameter_count > 1 ? weight + 1 : NULL);
		}
	}
	for (int i = 0; i < spec->count; i++)
		if (spec->layers[i].kaiming)
			init_kaiming(&generator, &s->tensors[shapes->layers[i].parameters]);
}

static bool load_weights(struct host_state *s, const struct run *r, struct train_error *error)
{
	SAFETENSORS *file = NULL;

	return safetensors_open(&file, r->settings->weights, error) &&
	       checkpoint_load_model(&s->checkpoint, file, error);
}

static void report_refused(void *data, const char *why)
{
	fprintf(stderr, "gpumap-train: warning: %s; the checkpoint before it is used\n", why);
}

static bool load_newest(struct host_state *s, struct run *r, bool *found, struct train_error *error)
{
	struct checkpoint_progress progress;
	SAFETENSORS *file = NULL;

	if (!checkpoint_newest(&file, r->settings->checkpoint, report_refused, NULL, error))
		return false;
	*found = file != NULL;
	if (!file) {
		fprintf(stderr, "gpumap-train: remark: %s has no checkpoint; beginning at step 0\n",
			r->settings->checkpoint);
		return true;
	}
	if (!checkpoint_progress(&progress, file, error) ||
	    !resume_check(r->training, r->steps, file, &progress, error) ||
	    !checkpoint_load(&s->checkpoint, file, error))
		return false;
	r->begun_with = xstrdup(file->path);
	return true;
}

/* The state in which all ranks begin, as rank 0 found it. */
struct beginning {
	struct checkpoint_progress progress;
	bool resumed;
	struct train_error error; /* why it cannot begin, for all ranks to report */
};

static void go_on(struct run *r, const struct checkpoint_progress *p)
{
	int64_t steps = r->sampler.steps;

	r->step = r->reported_step = p->step;
	r->optimizer_step = p->optimizer_step;
	r->epoch = p->epoch;
	r->epoch_step = p->position / r->training->global_batch;
	if (r->epoch_step >= steps) {
		r->epoch++;
		r->epoch_step = 0;
	}
	r->history = p->history;
	/* Reported once, by the rank that measures the time. */
	if (r->rank == 0)
		r->training->started_ns -= p->elapsed_ms * 1000000;
	if (r->scaled && p->scaler_scale > 0) {
		r->scaler.scale = p->scaler_scale;
		r->scaler.good_steps = (int32_t)p->scaler_growth;
	}
}

static bool find_beginning(struct host_state *s, struct run *r, struct beginning *b,
			   struct train_error *error)
{
	if (r->settings->resume && !load_newest(s, r, &b->resumed, error))
		return false;
	b->progress = s->checkpoint.progress;
	if (b->resumed)
		return true;
	if (r->settings->weights)
		return load_weights(s, r, error);
	initialise(s, r);
	return true;
}

bool run_begin(struct run *r, struct train_error *error)
{
	struct beginning mine = {.resumed = false};
	CLEANUP(host_state_close) struct host_state s;
	CLEANUP_FREE struct beginning *first = NULL;

	host_state_open(&s, r);
	if (r->rank == 0)
		find_beginning(&s, r, &mine, &mine.error);
	first = gather_all(r->comm, &mine, sizeof(mine), "where training begins", error);
	if (!first)
		return false;
	if (first->error.status != TRAIN_OK)
		return train_fail(error, first->error.status, "%s", first->error.text);
	if (first->resumed)
		go_on(r, &first->progress);
	return host_state_give(&s, r, first->resumed, error);
}

/* --- the checkpoint of a run ----------------------------------------------------------------- */

static bool write_checkpoint(struct run *r, struct host_state *s, struct train_error *error)
{
	int64_t history = r->history;
	struct resume_facts facts;

	/* Without --metrics the previous file stays unchanged, for a run that names it again. */
	if (r->settings->metrics && !metrics_position(r->metrics, &history, error))
		return false;
	resume_facts_of(&facts, r->training, r->steps);
	s->checkpoint.texts = facts.texts;
	s->checkpoint.text_count = RESUME_TEXTS;
	s->checkpoint.progress = (struct checkpoint_progress){
		.step = r->step,
		.optimizer_step = r->optimizer_step,
		.epoch = r->epoch,
		.position = r->epoch_step * r->training->global_batch,
		.history = history,
		.elapsed_ms = (clock_ns() - r->training->started_ns) / 1000000,
		.scaler_growth = r->scaled ? r->scaler.good_steps : 0,
		.scaler_scale = r->scaled ? r->scaler.scale : 0,
		.seed = r->settings->seed,
	};
	return checkpoint_save(r->settings->checkpoint, &s->checkpoint, (int)r->settings->keep,
			       error);
}

static bool save(struct run *r, struct train_error *error)
{
	CLEANUP(host_state_close) struct host_state s;

	host_state_open(&s, r);
	return host_state_collect(&s, r, error) && (r->rank != 0 || write_checkpoint(r, &s, error));
}

bool run_save(struct run *r, struct train_error *error)
{
	bool done = save(r, error);

	if (done)
		r->saved = r->step;
	r->last_ns = clock_ns();
	return done;
}
