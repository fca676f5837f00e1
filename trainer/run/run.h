/* SPDX-License-Identifier: MIT */
/* The state of a rank during a training run. */
#ifndef TRAIN_RUN_RUN_H
#define TRAIN_RUN_RUN_H

#include "checkpoint/checkpoint.h"
#include "run/training.h"

/* A step in flight. */
struct run_pending {
	struct step_metrics metrics; /* what is known so far */
	int64_t begin_ns;
};

struct run {
	struct training *training;
	const struct settings *settings;
	int rank;
	struct parallel *parallel;
	struct communicator *comm;
	struct sampler sampler;
	struct schedule schedule;
	struct scaler scaler; /* as on the devices after the last completed step */
	bool scaled;          /* float16 */
	int64_t *indices;
	struct metrics *metrics; /* rank 0's */
	int64_t steps;           /* of the whole training run */

	/* Submitted steps, whose results are not known yet. */
	struct run_pending pending[MAX_FETCH];
	/* Of the last that completed. Besides these there are the next step, and one whose results
	 * are not gathered yet. */
	int ahead;
	/* Steps in all: those begun, those with a result of this rank, and those with the results
	 * of all ranks. If results are gathered on the device they come with the next step's, so
	 * that no step waits. */
	int submitted, completed, gathered;
	int64_t reported_step; /* the last whose results of all ranks were written */

	/* The position */
	int64_t step,
		optimizer_step; /* steps done; the second without those that the scaler skipped */
	int64_t epoch, epoch_step;
	int64_t tracked[MODEL_MAX_LAYERS]; /* rank 0: num_batches_tracked of each layer when it
					      began */
	int64_t history;                   /* bytes of the file of metrics for these */
	int64_t last_ns;                   /* when the previous step was reported */
	int64_t result_ns;                 /* when its result was there */
	int64_t counted;                   /* steps of this process */
	int64_t timed, own_ns, waited_ns;  /* the steps whose times are known, and their sums */
	int64_t profiled;                  /* steps in time lines */
	char *begun_with;                  /* rank 0: the checkpoint that it resumed, or NULL */
	int64_t saved; /* the step of the newest checkpoint that it wrote, or 0 */
	int stopped;   /* by this signal, before the last step; or 0 */
};

/* --- restore.c: the beginning of a run, and its checkpoints */

/* PyTorch's initial parameters, a file of weights, or the newest checkpoint; the sampler too. */
bool run_begin(struct run *run, struct train_error *error);
bool run_save(struct run *run, struct train_error *error);

/* --- step.c */

/* The first steps of a process are not measured: memory is not touched yet, caches are cold. */
enum { RUN_NOT_PROFILED = 2 };

/* One step of all ranks. Rank 0 reports it when its result is there, which may be in a later call.
 * *stop: the signal that asked a rank to stop, or unchanged. */
bool run_next_step(struct run *run, int *stop, struct train_error *error);
/* Waits for the results of all steps. */
bool run_settle(struct run *run, int *stop, struct train_error *error);
/* The test data, at the end of this epoch or of the run. */
bool run_evaluate(struct run *run, int64_t epoch, struct train_error *error);

/* --- burn.c: --burn */

/* Steps and checks until the time is over or a signal asks for an end; then rank 0 reports the
 * devices, even if one of them has failed. training.found is the number of findings. */
bool run_burn(struct run *run, struct train_error *error);

/* --- verify_mapping.c */

/* Whether --verify-mapping checks after this step. */
bool run_verify_due(const struct run *run);
/* --verify-mapping: all ranks check where memory is in use, and fail if it is on another GPU than
 * expected. Rank 0 reports it, at the end in a line of its own. */
bool run_verify(struct run *run, bool end, struct train_error *error);

/* --- end_report.c: reports on standard output */

/* The `count` elements of `size` bytes of each rank, in the order of ranks, *total of them; freed
 * by the caller. NULL: it failed. All ranks call it. */
void *run_collect(struct run *run, const void *mine, int count, size_t size, int *total,
		  const char *what, struct train_error *error);

/* The i-th device of this rank: the mapping's, and its UUID by the driver, "": not known. */
const struct place_device *run_place_device(const struct run *run, int i);
const char *run_device_uuid(const struct run *run, int i);

/* Reports the devices, the assumptions about them, and run_report_beginning. */
bool run_report_places(struct run *run, struct train_error *error);
/* At the end reports memory, times and the time line. */
bool run_finish(struct run *run, struct train_error *error);

/* --- of rank 0 */

/* Reports the backend, the training run, the batch with its padding, and the checkpoint that the
 * run continues from. */
void run_report_beginning(const struct run *run, int devices);
/* After all files are closed: lists them, and on stderr reports where a run was stopped. */
bool run_report_saved(const struct run *run, struct train_error *error);

#endif
