/* SPDX-License-Identifier: MIT */
/* The training of this process, prepared before its ranks begin. */
#ifndef TRAIN_RUN_TRAINING_H
#define TRAIN_RUN_TRAINING_H

#include <pthread.h>

#include "parallel/parallel.h"
#include "place/verify.h"

struct training {
	const struct settings *settings;
	struct place place;
	const struct backend *backend;
	const struct collective *collective;
	struct rendezvous *rendezvous;
	struct model_spec model;
	const struct model_spec *spec; /* points to it */
	struct dataset train, test;
	enum value_type precision; /* of the settings, or another one if this processor lacks it */
	cpu_set_t cpus;            /* those of the process */
	struct verify *verify;     /* of this process; NULL: not asked for */

	/* Samples of a step: of all ranks, and of one rank; and the number of ranks among which the
	 * sampler divides them (those of ddp; in other modes a rank takes all). */
	int64_t global_batch, rank_batch;
	int sampler_ranks;
	int64_t started_ns; /* CLOCK_MONOTONIC, less the time that earlier runs took */

	/* Why the first of this process's ranks failed. Other ranks fail after it, and may return
	 * earlier. */
	pthread_mutex_t mutex;
	struct train_error first;
	int found; /* rank 0: devices in which a burn test found something */
};

/* Finds the devices and reads the data. On failure there is nothing to close. */
bool training_open(struct training *training, const struct command_line *command,
		   struct train_error *error);
void training_close(struct training *training);

/* Notes why a rank of this process fails, and ends the others, also those of other processes,
 * through its `parallel`; NULL: not open yet. */
void training_failed(struct training *training, struct parallel *parallel, int rank,
		     const struct train_error *error);

/* Runs one rank on its thread, from opening its device to the last checkpoint. A rank that fails
 * notes the reason and ends the others. *stopped: the signal that asked any rank to end before the
 * last step, or 0. */
bool training_rank(struct training *training, int rank, int *stopped, struct train_error *error);

#endif
