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

void step_graph_close(struct step_graph *r)
{
	if (!r)
		return;
	for (struct recording *next, *recording = r->first; recording; recording = next) {
		next = recording->next;
		if (recording->step)
			r->options.device->backend->step_free(recording->step);
		free(recording);
	}
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

bool step_graph_run(struct step_graph *r, const struct graph_step *step, struct train_error *error)
{
	struct recording *recording = find(r, step);
	struct device *device = r->options.device;

	if (!recording)
		return run_first(r, step, error);
	if (step->as_is)
		return issue(recording, error);
	if (!recording->step &&
	    !device->backend->step_new(&recording->step, device, issue, recording, error))
		return false;
	return device->backend->step_run(recording->step, error);
}
