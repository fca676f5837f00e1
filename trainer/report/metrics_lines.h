/* SPDX-License-Identifier: MIT */
/* Lines of JSON in a file, one object each:
 *
 *	{"type": "step", "step": 1, "epoch": 0, "samples": 128, "loss": 2.3, "accuracy": 0.1,
 *	 "lr": 0.001, "seconds": 0.01, "slowest_rank": 2, "slowest_seconds": 0.01,
 *	 "mean_seconds": 0.01, "exposed_seconds": 0, "gradient_norm": null, "scale": 0,
 *	 "skipped": false}
 *	{"type": "evaluation", "step": 390, "epoch": 0, "samples": 10000, "loss": 1.2,
 *	 "accuracy": 0.6, "seconds": 12.5}
 *
 * with the meaning of struct step_metrics and struct evaluation_metrics. A number is read back as
 * the same double; null is NaN or infinity, and a slowest rank that is not known. */
#ifndef TRAIN_REPORT_METRICS_LINES_H
#define TRAIN_REPORT_METRICS_LINES_H

#include "report/plot.h"

struct lines;

/* keep > 0: the file must exist and have so many bytes of complete lines; the rest is removed after
 * all were added to the plot, which may be NULL. */
bool lines_open(struct lines **lines, const char *name, int64_t keep, struct plot *plot,
		struct train_error *error);
/* Flushes. May be NULL. */
bool lines_close(struct lines *lines, struct train_error *error);

/* Lines are written when 64 KiB are full, 0.1 s after the last write, and with an evaluation. */
bool lines_step(struct lines *lines, const struct step_metrics *step, struct train_error *error);
bool lines_evaluation(struct lines *lines, const struct evaluation_metrics *evaluation,
		      struct train_error *error);
/* The bytes so far, flushed and synced; 0 unless it is a regular file, as others cannot be
 * truncated. */
bool lines_position(struct lines *lines, int64_t *bytes, struct train_error *error);

/* Of lines_open: the first `keep` bytes of a file; a line of another form is bad input. */
bool lines_read(int fd, const char *name, int64_t keep, struct plot *plot,
		struct train_error *error);

#endif
