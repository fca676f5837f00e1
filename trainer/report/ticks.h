/* SPDX-License-Identifier: MIT */
/* Round numbers along an axis. */
#ifndef TRAIN_REPORT_TICKS_H
#define TRAIN_REPORT_TICKS_H

#include <stdbool.h>

#include "report/format.h"

enum { MAX_TICKS = 24 };

struct ticks {
	int count;
	double values[MAX_TICKS]; /* ascending */
	double step;              /* between them; 0: an axis of powers */
};

/* Multiples of 1, 2 or 5 times a power of ten from lo to hi, no more than `most` (2 to 20), and
 * none closer than `least`. */
void ticks_linear(struct ticks *ticks, double lo, double hi, int max, double least);
/* 0 < lo < hi: powers of ten, and where those are few 2 and 5 times them. */
void ticks_log(struct ticks *ticks, double lo, double hi);

const char *tick_text(char text[NUMBER_TEXT], const struct ticks *ticks, int i);

#endif
