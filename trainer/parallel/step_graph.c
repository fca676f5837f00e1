/* SPDX-License-Identifier: MIT */
#include "parallel/step_graph.h"

#include <stdlib.h>

struct recording {
	struct recording *next;
	struct step_graph *graph;
	struct graph_step of;
	struct step *steps[2]; /* of each turn; NULL: not recorded yet */
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
		for (int turn = 0; turn < 2; turn++)
			if (recording->steps[turn])
				r->options.device->backend->step_free(recording->steps[turn]);
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
	*recording = (struct recording){.next = r->first, .graph = r, .of = *step};
	r->first = recording;
	return issue(recording, error);
}

/* Makes a recording, or abandons all. */
static bool record(struct step_graph *r, struct recording *recording, struct step **step,
		   struct train_error *error)
{
	struct device *device = r->options.device;
	struct train_error why = {.status = TRAIN_OK};
	bool done, all = true;

	if (!r->options.recorded)
		return device->backend->step_new(step, device, issue, recording, error);
	done = device->backend->step_new(step, device, issue, recording, &why);
	if (!r->options.recorded(r->options.argument, done ? NULL : &why, &all, error))
		return false;
	if (!all) {
		free_recordings(r);
		r->abandoned = true;
	}
	return true;
}

static bool run_recorded(struct step_graph *r, struct recording *recording,
			 const struct graph_step *step, struct train_error *error)
{
	struct step **made = &recording->steps[*r->options.turn];

	if (!*made && !record(r, recording, made, error))
		return false;
	return r->abandoned ? r->options.instead(r->options.argument, step, error)
			    : r->options.device->backend->step_run(*made, error);
}

bool step_graph_run(struct step_graph *r, const struct graph_step *step, struct train_error *error)
{
	struct recording *recording;

	if (r->abandoned)
		return r->options.instead(r->options.argument, step, error);
	recording = find(r, step);
	if (!recording)
		return run_first(r, step, error);
	return step->as_is ? issue(recording, error) : run_recorded(r, recording, step, error);
}
