/* SPDX-License-Identifier: MIT */
#include "parallel/step_graph.h"

#include <stdlib.h>

struct recording {
	struct recording *next;
	struct step_graph *graph;
	struct graph_step of;
	struct step *step; /* NULL: it was run without recording */
};

struct step_graph {
	struct step_graph_options options;
	struct recording *first;
	bool abandoned; /* `instead` runs */
};

bool step_graph_open(struct step_graph **ret, const struct step_graph_options *options,
		     struct train_error *error)
{
	struct step_graph *r = calloc(1, sizeof(*r));

	if (!r)
		return train_nomem(error, "recorded steps");
	r->options = *options;
	*ret = r;
	return true;
}

static void free_recordings(struct step_graph *r)
{
	for (struct recording *next, *recording = r->first; recording; recording = next) {
		next = recording->next;
		if (recording->step)
			r->options.device->backend->step_free(recording->step);
		free(recording);
	}
	r->first = NULL;
}

void step_graph_close(struct step_graph *r)
{
	if (!r)
		return;
	free_recordings(r);
	free(r);
}

static bool issue(void *argument, struct train_error *error)
{
	const struct recording *recording = argument;
	const struct step_graph_options *options = &recording->graph->options;

	return options->issue(options->argument, &recording->of, error);
}

static bool alike(const struct graph_step *a, const struct graph_step *b)
{
	return a->pass == b->pass && a->passes == b->passes && a->of_all == b->of_all;
}

/* The recording of such steps; NULL: this is the first of them. */
static struct recording *find(const struct step_graph *r, const struct graph_step *step)
{
	struct recording *recording = r->first;

	while (recording && !alike(&recording->of, step))
		recording = recording->next;
	return recording;
}

/* A training has few kinds of steps: full ones, and the last of an epoch. */
static bool run_first(struct step_graph *r, const struct graph_step *step,
		      struct train_error *error)
{
	struct recording *recording = malloc(sizeof(*recording));

	if (!recording)
		return train_nomem(error, "a recorded step");
	*recording = (struct recording){r->first, r, *step, NULL};
	r->first = recording;
	return issue(recording, error);
}

/* Makes the recording, or abandons all. */
static bool record(struct step_graph *r, struct recording *recording, struct train_error *error)
{
	struct device *device = r->options.device;
	struct train_error why = {.status = TRAIN_OK};
	bool done, all = true;

	if (!r->options.recorded)
		return device->backend->step_new(&recording->step, device, issue, recording, error);
	done = device->backend->step_new(&recording->step, device, issue, recording, &why);
	if (!r->options.recorded(r->options.argument, done ? NULL : &why, &all, error))
		return false;
	if (!all) {
		free_recordings(r);
		r->abandoned = true;
	}
	return true;
}

bool step_graph_run(struct step_graph *r, const struct graph_step *step, struct train_error *error)
{
	struct recording *recording = r->abandoned ? NULL : find(r, step);

	if (!recording && !r->abandoned)
		return run_first(r, step, error);
	if (recording && step->as_is)
		return issue(recording, error);
	if (recording && !recording->step && !record(r, recording, error))
		return false;
	if (r->abandoned)
		return r->options.instead(r->options.argument, step, error);
	return r->options.device->backend->step_run(recording->step, error);
}
