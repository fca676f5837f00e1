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

struct setting {
	const char *name;
	double value, least, max;
};

static bool check(const struct setting *settings, int count, struct train_error *error)
{
	for (const struct setting *s = settings; s < settings + count; s++)
		/* Written so that a NaN fails. */
		if (!(s->value >= s->least && s->value <= s->max))
			return train_fail(error, TRAIN_BAD_INPUT,
					  "schedule: %s is %g: give a number from %g to %g",
					  s->name, s->value, s->least, s->max);
	return true;
}

bool schedule_check(const struct schedule *schedule, struct train_error *error)
{
	const struct setting settings[] = {
		{"steps", (double)schedule->steps, 1, 1e15},
		{"learning rate", schedule->lr, 0, 1e30},
		{"least learning rate", schedule->lr_min, 0, schedule->lr},
		{"warm-up", schedule->warmup, 0, 1},
		{"divisor of the first rate", schedule->div, 1e-30, 1e30},
		{"divisor of the last rate", schedule->final_div, 1e-30, 1e30},
		{"least momentum", schedule->momentum_min, 0, 1},
		{"greatest momentum", schedule->momentum_max, 0, 1},
	};

	if (schedule->kind == SCHEDULE_ONE_CYCLE)
		return check(settings, 2, error) && check(settings + 3, 5, error);
	return check(settings, schedule->kind == SCHEDULE_COSINE ? 3 : 2, error);
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
