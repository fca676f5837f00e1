/* SPDX-License-Identifier: MIT */
/* See step_metrics.h. */
#include "run/step_metrics.h"

#include <math.h>

static double seconds_of(int64_t ns)
{
	return ns < 0 ? NAN : (double)ns * 1e-9;
}

/* If one rank's own time is not known, the slowest is not known either. */
static void compare_times(const struct step_share *all, int world, struct step_metrics *m)
{
	int64_t slowest = -1, sum = 0;
	bool known = true;

	for (int i = 0; i < world; i++) {
		known = known && all[i].own_ns >= 0;
		sum += all[i].own_ns;
		if (all[i].own_ns > slowest) {
			slowest = all[i].own_ns;
			m->slowest_rank = i;
			m->exposed_seconds = seconds_of(all[i].exposed_ns);
		}
	}
	m->slowest_seconds = (double)slowest * 1e-9;
	m->mean_seconds = (double)sum * 1e-9 / world;
	if (known)
		return;
	m->slowest_rank = -1;
	m->slowest_seconds = m->mean_seconds = m->exposed_seconds = NAN;
}

void step_metrics_add_up(struct step_metrics *m, const struct step_share *all, int world, int *stop)
{
	int64_t correct = 0;

	for (int i = 0; i < world; i++) {
		m->loss += all[i].loss;
		correct += all[i].correct;
		if (*stop == 0)
			*stop = (int)all[i].stop;
	}
	m->loss /= (double)m->samples;
	m->accuracy = (double)correct / (double)m->samples;
	compare_times(all, world, m);
}
