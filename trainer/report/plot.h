/* SPDX-License-Identifier: MIT */
/* The curves of a run as a picture: losses above, accuracies below, over steps. */
#ifndef TRAIN_REPORT_PLOT_H
#define TRAIN_REPORT_PLOT_H

#include "report/curve.h"
#include "report/metrics.h"

struct plot {
	struct curve loss, accuracy; /* of training, each step */
	struct curve test_loss, test_accuracy;
};

/* Adds a step or an evaluation. NULL is nothing. */
void plot_step(struct plot *plot, const struct step_metrics *step);
void plot_evaluation(struct plot *plot, const struct evaluation_metrics *evaluation);

/* A value that is not finite leaves a gap and a mark. The axis of losses is logarithmic if they
 * differ by a factor of 100 or more. FILE is replaced atomically. */
bool plot_svg(const struct plot *plot, const char *file, const char *title,
	      struct train_error *error);

#endif
