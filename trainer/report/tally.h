/* SPDX-License-Identifier: MIT */
/* Sums over the steps of an epoch. */
#ifndef TRAIN_REPORT_TALLY_H
#define TRAIN_REPORT_TALLY_H

#include "report/metrics.h"

struct tally {
	int ranks;
	double *excess; /* of each rank: seconds above the mean of ranks */

	/* Of the epoch; loss and accuracy are sums over samples */
	int64_t steps, skipped, samples, counted;
	double loss, correct, seconds, mean_seconds;

	/* Of the last seconds, fading */
	double recent_steps, recent_samples, recent_seconds;
};

void tally_open(struct tally *tally, int ranks);
void tally_close(struct tally *tally);

/* Begins another epoch; keeps the recent values. */
void tally_begin(struct tally *tally);
void tally_step(struct tally *tally, const struct step_metrics *step);

/* NAN without steps. */
double tally_loss(const struct tally *tally);
double tally_accuracy(const struct tally *tally);
double tally_recent_rate(const struct tally *tally); /* samples per second */
double tally_recent_step(const struct tally *tally); /* seconds per step */
/* The rank with the greatest excess and its part of the mean time; false if there is none. */
bool tally_slowest(const struct tally *tally, int *rank, double *part);

#endif
