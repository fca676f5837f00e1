/* SPDX-License-Identifier: MIT */
/* DataParallel's replicas, and the memory of its master (dp_open.c). */
#ifndef TRAIN_DP_H
#define TRAIN_DP_H

#include "parallel/pieces.h"
#include "parallel/rank.h"
#include "run/crew.h"

struct dp {
	struct parallel base;
	struct crew *crew; /* a thread for each replica; this one for the first */
	int count;
	struct replica replicas[PLACE_MOST_DEVICES];
	struct pieces pieces[PLACE_MOST_DEVICES];
	struct replica *master;
	int64_t elements; /* of the parameters */
	int64_t rows;     /* of a pass, over all replicas */

	/* On the master */
	struct op *loss;
	void *outputs, *output_gradients; /* of a pass: rows of row_bytes */
	size_t row_bytes;
	struct inputs inputs; /* of whole passes, for the loss */
	float *received;      /* a replica's gradients */

	/* This many times: passes for the first two, steps, updates */
	struct event *forward_done[PLACE_MOST_DEVICES], *loss_done;
	struct event *gradients_done[PLACE_MOST_DEVICES], *parameters_ready;
	uint64_t passes, steps, updates;

	/* Of the call under way */
	const struct step_input *input;
	struct step_output *issued;
	bool test;
	int64_t pass, pass_total, pass_count;
	const struct optimizer_progress *progress;
};

bool dp_open(struct parallel **parallel, const struct parallel_options *options,
	     struct train_error *error);
void dp_close(struct parallel *parallel);
void dp_abort(struct parallel *parallel, const struct train_error *why);

/* All replicas do it, each in its thread; one that fails ends the waiting of others. */
bool dp_run(struct dp *dp, crew_work *work, struct train_error *error);

/* How many of `count` samples replica `index` takes, and the first of them. */
int64_t dp_chunk(int64_t count, int replicas, int index, int64_t *first);

#endif
