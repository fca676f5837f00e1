/* SPDX-License-Identifier: MIT */
/* See step_graph.h. */
#include "parallel/step_graph.h"

#include <stdlib.h>

#include "memory.h"

struct step_kind {
	struct step_kind *next;
	struct step_graph *graph;
	struct graph_step of;
	struct recording *recordings[2]; /* of each turn; NULL: not recorded yet */
};

struct step_graph {
	struct step_graph_options options;
	struct step_kind *first;
	bool abandoned; /* `instead` runs */
};

struct step_graph *step_graph_open(const struct step_graph_options *options)
{
	struct step_graph *r = xcalloc(1, sizeof(*r));

	r->options = *options;
	return r;
}

static void free_kinds(struct step_graph *r)
{
	for (struct step_kind *next, *kind = r->first; kind; kind = next) {
		next = kind->next;
		for (int turn = 0; turn < 2; turn++)
			if (kind->recordings[turn])
				r->options.device->backend->recording_free(kind->recordings[turn]);
		free(kind);
	}
	r->first = NULL;
}

void step_graph_close(struct step_graph *r)
{
	if (!r)
		return;
	free_kinds(r);
	free(r);
}

static bool issue(void *argument, struct train_error *error)
{
	const struct step_kind *kind = argument;
	const struct step_graph_options *options = &kind->graph->options;

	return options->issue(options->argument, &kind->of, error);
}

static bool alike(const struct graph_step *a, const struct graph_step *b)
{
	return a->pass == b->pass && a->passes == b->passes && a->of_all == b->of_all;
}

/* The recording of such steps; NULL: this is the first of them. */
static struct step_kind *find(const struct step_graph *r, const struct graph_step *step)
{
	struct step_kind *kind = r->first;

	while (kind && !alike(&kind->of, step))
		kind = kind->next;
	return kind;
}

/* A training run has few kinds of steps: full ones, and the last of an epoch. */
static bool run_first(struct step_graph *r, const struct graph_step *step,
		      struct train_error *error)
{
	struct step_kind *kind = xmalloc(sizeof(*kind));

	*kind = (struct step_kind){.next = r->first, .graph = r, .of = *step};
	r->first = kind;
	return issue(kind, error);
}

/* Makes a recording, or abandons all. */
static bool record(struct step_graph *r, struct step_kind *kind, struct recording **step,
		   struct train_error *error)
{
	struct device *device = r->options.device;
	struct train_error why = {.status = TRAIN_OK};
	bool done, all = true;

	if (!r->options.recorded)
		return device->backend->recording_new(step, device, issue, kind, error);
	done = device->backend->recording_new(step, device, issue, kind, &why);
	if (!r->options.recorded(r->options.argument, done ? NULL : &why, &all, error))
		return false;
	if (!all) {
		free_kinds(r);
		r->abandoned = true;
	}
	return true;
}

static bool run_recorded(struct step_graph *r, struct step_kind *kind,
			 const struct graph_step *step, struct train_error *error)
{
	struct recording **made = &kind->recordings[*r->options.turn];

	if (!*made && !record(r, kind, made, error))
		return false;
	return r->abandoned ? r->options.instead(r->options.argument, step, error)
			    : r->options.device->backend->recording_run(*made, error);
}

bool step_graph_run(struct step_graph *r, const struct graph_step *step, struct train_error *error)
{
	struct step_kind *kind;

	if (r->abandoned)
		return r->options.instead(r->options.argument, step, error);
	kind = find(r, step);
	if (!kind)
		return run_first(r, step, error);
	return step->as_is ? issue(kind, error) : run_recorded(r, kind, step, error);
}
