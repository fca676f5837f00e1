/* SPDX-License-Identifier: MIT */
/* The progress of a run on stderr: a bar, or lines. */
#ifndef TRAIN_REPORT_PROGRESS_H
#define TRAIN_REPORT_PROGRESS_H

#include "report/tally.h"

enum { PROGRESS_WIDEST = 512 };

struct progress {
	enum progress_style style; /* never auto */
	int64_t epochs, epoch_steps, steps;
	int64_t begun; /* ns */
	double seconds;
	struct tally tally;
	int64_t epoch; /* of the steps in tally, while pending */
	int64_t place; /* steps of that epoch, with those before a resume */
	bool pending;  /* steps of an epoch without its line */
	int64_t shown; /* when the bar, or a line, was written last; ns */
	int width;     /* columns that the bar takes on the terminal now */
	char bar[PROGRESS_WIDEST + 1];
};

/* Of options: progress, epochs, epoch_steps, steps, seconds, ranks. */
void progress_open(struct progress *progress, const struct metrics_options *options);
/* Removes the bar, so that other text may follow on the terminal. If the epoch did not end, its
 * line is marked so. */
void progress_end(struct progress *progress);
/* The same, and frees it. */
void progress_close(struct progress *progress);

void progress_step(struct progress *progress, const struct step_metrics *step);
void progress_evaluation(struct progress *progress, const struct evaluation_metrics *evaluation);
/* Control characters are escaped. */
void progress_note(struct progress *progress, const char *text);

/* For the thread that waits for signals. Both wait only a moment for a stopped terminal or for a
 * thread that writes, and then write nothing. */

/* A line between those of the progress that is open and has not ended; false without one. */
bool progress_show_text(const char *text);
/* The process ends now: ends the line of a bar, and prevents further writes. */
void progress_abandon(void);

/* The contents of a bar. NAN, negative values and NULL are not shown, nor are parts that do not
 * fit. */
struct progress_state {
	double elapsed, seconds; /* of a burn test; 0: it has epochs */
	int64_t epoch, epochs;   /* from 0; of how many, 0: not known */
	int64_t place, places;   /* steps, -1: not shown; of how many, 0: not known */
	double loss, accuracy, rate, left;
	const char *slowest; /* "slowest rank 2 (+12 %)" */
};

/* A line of at most `columns` characters, with a bar if `bar`. Returns its length. */
int progress_line(char line[PROGRESS_WIDEST + 1], int columns, bool bar,
		  const struct progress_state *state);

#endif
