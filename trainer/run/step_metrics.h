/* SPDX-License-Identifier: MIT */
/* The metrics of a step, of what its ranks share. */
#ifndef TRAIN_RUN_STEP_METRICS_H
#define TRAIN_RUN_STEP_METRICS_H

#include "collective/collective.h"
#include "report/metrics.h"

/* The results of a step that ranks share. */
struct step_share {
	double loss;
	int64_t correct, own_ns, exposed_ns; /* -1: not measured */
	int64_t stop;                        /* signal, or 0 */
};

_Static_assert(sizeof(struct step_share) <= MAX_GATHER, "it is gathered in two parts");

/* Adds up what all ranks share. *stop: the first signal, if it was 0. */
void step_metrics_add_up(struct step_metrics *metrics, const struct step_share *all, int world,
			 int *stop);

#endif
