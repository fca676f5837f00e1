/* SPDX-License-Identifier: MIT */
/*
 * Runs a step, or a segment of one, and lets the device record it as a graph. Steps differ only in
 * their number of passes, segments in their pass too; there is one recording for each. The first
 * run of each is not recorded, because libraries prepare in it by calls that cannot be recorded.
 *
 * NCCL wants a call to be recorded by all ranks or by none, and a recording that has it to be run
 * by all together (its user guide, "Using NCCL with CUDA Graphs"). A rank does not know the passes
 * of others, which may differ from its own, but it knows the number of samples of all ranks.
 * Recordings are chosen by that number, so that all ranks do the same in each step.
 *
 * NCCL may refuse to be recorded. Then all ranks run other functions instead, from that step on.
 */
#ifndef TRAIN_PARALLEL_STEP_GRAPH_H
#define TRAIN_PARALLEL_STEP_GRAPH_H

#include "backend/backend.h"

struct step_graph;

/* A step of so many passes, or a segment of its pass `pass`, from 0. of_all: the samples of all
 * ranks in it; 0 if no rank waits for others in it. as_is, on all ranks: nothing is recorded or
 * replayed, so that its operations can be timed. */
struct graph_step {
	int64_t pass, passes, of_all;
	bool as_is;
};

typedef bool graph_issue(void *argument, const struct graph_step *step, struct train_error *error);

struct step_graph_options {
	struct device *device;
	graph_issue *issue;
	void *argument;
	const int *turn; /* the memory that the step has (inputs.h), which a recording is for */
	/* For steps with waits for other ranks; else both are NULL, and a failed recording is a
	 * failure. recorded: a recording was made, or failed because of `why`. *all: each rank has
	 * one. Otherwise all recordings are freed, and `instead` runs this step and later ones. */
	bool (*recorded)(void *argument, const struct train_error *why, bool *all,
			 struct train_error *error);
	graph_issue *instead;
};

struct step_graph *step_graph_open(const struct step_graph_options *options);
/* NULL is allowed. */
void step_graph_close(struct step_graph *graph);

bool step_graph_run(struct step_graph *graph, const struct graph_step *step,
		    struct train_error *error);

#endif
