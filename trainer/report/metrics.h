/* SPDX-License-Identifier: MIT */
/* Reports while a run is in progress: a bar or lines for people, one line of JSON for each step for
 * programs, and the curve of the losses at its end. Only rank 0 has one. */
#ifndef TRAIN_REPORT_METRICS_H
#define TRAIN_REPORT_METRICS_H

#include <stdint.h>

#include "base/error.h"

enum progress_style { PROGRESS_AUTO, PROGRESS_BAR, PROGRESS_LINES, PROGRESS_NONE };

struct metrics_options {
	enum progress_style progress; /* auto: a bar if stderr is a terminal, else lines */
	const char *file;             /* JSON lines, or NULL */
	int64_t keep;      /* bytes of the file for steps before a resume; the rest is removed */
	const char *plot;  /* SVG of losses and accuracies, written by metrics_close, or NULL */
	const char *title; /* of the plot: "convnet, ddp, 4 ranks" */
	int64_t epochs;
	int64_t epoch_steps; /* of a whole epoch; 0: not known, steps / epochs is taken */
	int64_t steps;       /* of the whole run */
	int64_t done;        /* before the resume */
	double seconds;      /* of a burn test, which has no epochs; 0: a training run */
	int ranks;
};

struct step_metrics {
	int64_t step, epoch; /* steps from 1, epochs from 0 */
	int64_t samples;     /* of all ranks; padding counts, as in PyTorch's loss */
	double loss;         /* mean over them */
	double accuracy;     /* in 0..1, of the training samples */
	double lr;
	double seconds; /* from the previous step to this one */
	/* Own time of ranks, without waiting for others (run/step_metrics.c compares them). On
	 * GPUs, in modes ddp and mp, it is measured only in profiled steps; else NAN, and
	 * slowest_rank is -1. */
	double slowest_seconds, mean_seconds;
	int slowest_rank;
	/* Of the slowest rank: waiting for gradients after backward; NAN: not measured, as when the
	 * three above are not, and on GPUs in mode dp in steps that are not profiled. */
	double exposed_seconds;
	double gradient_norm; /* NAN: not computed */
	double scale;         /* of the loss; 0: not scaled */
	bool skipped;         /* the gradients were not finite */
};

struct evaluation_metrics {
	int64_t step, epoch; /* steps done; of the epoch that ended */
	int64_t samples;
	double loss, accuracy;
	double seconds; /* of training so far, with evaluations and earlier runs */
};

struct metrics;

/*
 * On a terminal progress is a line that fits its width. It is rewritten at most ten times a second
 * and after each epoch, when it becomes a line that is kept:
 *
 * 	epoch 2/10  [=======>      ]  120/390  loss 1.2345  61.2 %  812 img/s  0:12 left ...
 * 	epoch 2/10  loss 1.2201  61.5 %  812 img/s  test loss 1.2816  60.3 %  61.5 s ...
 *
 * A burn test begins with its time instead, "burn 0:12 of 1:00", and its bar shows that.
 *
 * Loss and accuracy are means over the epoch so far, images per second of the last seconds, and the
 * time left of the epoch; "slowest rank 2 (+12 %)" is the one whose own time was most above the
 * mean, in percent of the mean. Elsewhere a line like the first appears every two seconds at most,
 * and one for each epoch. PROGRESS_NONE writes nothing, notes neither.
 *
 * The lines of the file are in report/metrics_lines.h. keep > 0 needs the file of the run that is
 * resumed, as metrics_position found it: if it is not there or shorter, that is bad input.
 * Otherwise the file begins empty. With keep the plot has the earlier steps, too.
 */
bool metrics_open(struct metrics **metrics, const struct metrics_options *options,
		  struct train_error *error);
bool metrics_step(struct metrics *metrics, const struct step_metrics *step,
		  struct train_error *error);
bool metrics_evaluation(struct metrics *metrics, const struct evaluation_metrics *evaluation,
			struct train_error *error);
/* A line between those of progress: "checkpoint written". */
void metrics_note(struct metrics *metrics, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Ends the line of progress, so that tables may follow on the terminal. */
void metrics_end(struct metrics *metrics); /* NULL is nothing */
/* Bytes of the file so far, flushed and synced, for a checkpoint's `history`. 0 without a regular
 * file. */
bool metrics_position(struct metrics *metrics, int64_t *bytes, struct train_error *error);
/* Writes the plot, also after a failed run. Always frees it. May be NULL. */
bool metrics_close(struct metrics *metrics, struct train_error *error);

#endif
