/* SPDX-License-Identifier: MIT */
/* See tally.h. */
#include "report/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* Seconds until a step counts by 1/e. */
static const double fading = 5;

void tally_open(struct tally *tally, int ranks)
{
	*tally = (struct tally){.ranks = ranks};
	tally->excess = xcalloc((size_t)(ranks > 0 ? ranks : 0), sizeof(*tally->excess));
}

void tally_close(struct tally *tally)
{
	free(tally->excess);
	tally->excess = NULL;
}

void tally_begin(struct tally *tally)
{
	struct tally next = {.ranks = tally->ranks,
			     .excess = tally->excess,
			     .recent_steps = tally->recent_steps,
			     .recent_samples = tally->recent_samples,
			     .recent_seconds = tally->recent_seconds};

	for (int i = 0; i < tally->ranks; i++)
		next.excess[i] = 0;
	*tally = next;
}

static double not_negative(double value)
{
	return value > 0 && isfinite(value) ? value : 0;
}

void tally_step(struct tally *tally, const struct step_metrics *step)
{
	double seconds = not_negative(step->seconds), mean = not_negative(step->mean_seconds);
	double fade = exp(-seconds / fading);
	int rank = step->slowest_rank;

	tally->steps++;
	tally->skipped += step->skipped;
	tally->samples += step->samples;
	/* A value that scaling made infinite does not count. */
	if (!step->skipped || isfinite(step->loss)) {
		tally->counted += step->samples;
		tally->loss += step->loss * (double)step->samples;
		tally->correct += step->accuracy * (double)step->samples;
	}
	tally->seconds += seconds;
	tally->mean_seconds += mean;
	if (rank >= 0 && rank < tally->ranks)
		tally->excess[rank] += not_negative(step->slowest_seconds - mean);
	tally->recent_steps = tally->recent_steps * fade + 1;
	tally->recent_samples = tally->recent_samples * fade + (double)step->samples;
	tally->recent_seconds = tally->recent_seconds * fade + seconds;
}

static double ratio(double of, double by)
{
	return by > 0 ? of / by : NAN;
}

double tally_loss(const struct tally *tally)
{
	return ratio(tally->loss, (double)tally->counted);
}

double tally_accuracy(const struct tally *tally)
{
	return ratio(tally->correct, (double)tally->counted);
}

double tally_recent_rate(const struct tally *tally)
{
	return ratio(tally->recent_samples, tally->recent_seconds);
}

double tally_recent_step(const struct tally *tally)
{
	return ratio(tally->recent_seconds, tally->recent_steps);
}

bool tally_slowest(const struct tally *tally, int *rank, double *part)
{
	int slowest = 0;

	if (tally->ranks < 2 || !(tally->mean_seconds > 0))
		return false;
	for (int i = 1; i < tally->ranks; i++)
		if (tally->excess[i] > tally->excess[slowest])
			slowest = i;
	*rank = slowest;
	*part = tally->excess[slowest] / tally->mean_seconds;
	return *part > 0;
}
