/* SPDX-License-Identifier: MIT */
/* See schedule.h. */
#include "schedule.h"

#include <math.h>

struct schedule schedule_default(enum schedule_kind kind, int64_t steps, struct rates rates)
{
	return (struct schedule){
		.kind = kind,
		.steps = steps,
		.lr = rates.lr,
		.momentum = rates.momentum,
		.warmup = 0.3,
		.div = 25,
		.final_div = 1e4,
		.cycle_momentum = true,
		.momentum_min = 0.85,
		.momentum_max = 0.95,
	};
}

/* From `start` to `end` along half a cosine, as `part` goes from 0 to 1. */
static double anneal(double start, double end, double part)
{
	return end + (start - end) / 2.0 * (cos(M_PI * part) + 1);
}

static struct rates one_cycle(const struct schedule *s, int64_t step)
{
	double first = s->lr / s->div, last = first / s->final_div;
	double top = s->warmup * (double)s->steps - 1, end = (double)(s->steps - 1),
	       at = (double)step;
	struct rates rates = {.momentum = s->momentum};
	bool rises;
	double part;

	at = at < end ? at : end;
	rises = at <= top;
	if (rises)
		part = top > 0 ? at / top : 1; /* the top is the first step: PyTorch divides by 0 */
	else
		part = (at - top) / (end - top);
	rates.lr = rises ? anneal(first, s->lr, part) : anneal(s->lr, last, part);
	if (s->cycle_momentum)
		rates.momentum = rises ? anneal(s->momentum_max, s->momentum_min, part)
				       : anneal(s->momentum_min, s->momentum_max, part);
	return rates;
}

struct rates schedule_at(const struct schedule *s, int64_t step)
{
	struct rates rates = {s->lr, s->momentum};

	if (s->kind == SCHEDULE_ONE_CYCLE)
		return one_cycle(s, step);
	if (s->kind == SCHEDULE_COSINE)
		rates.lr = s->lr_min + (s->lr - s->lr_min) *
					       (1 + cos(M_PI * (double)step / (double)s->steps)) /
					       2;
	return rates;
}
