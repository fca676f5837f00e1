/* SPDX-License-Identifier: MIT */
/*
 * A burn test. Steps of the mode, with their sums between devices, take turns with checks: each
 * device computes the gradients of the same samples, alone. The learning rate is 0, so each check
 * must give the bits of the first, and equal devices the same ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/names.h"
#include "nvml_api.h"
#include "place/gpu_health.h"
#include "report/burn.h"
#include "report/format.h"
#include "run/run.h"
#include "run/stop.h"

enum { RATES = 256, ROUND_MS = 2000, NOTE_MS = 10000, CHECKS = 2 };

/* A device of this rank. */
struct burned {
	struct burn_device found;
	struct gpu_health *health; /* NULL: NVML does not know it */
	struct gpu_state before, last;
	double rates[RATES]; /* of its last checks */
};

struct burn {
	struct run *run;
	int count;
	struct burned *devices;
	int64_t begin_ns, noted_ns;
	int64_t steps;       /* of a round; it is the same in all ranks */
	int64_t samples;     /* of a check */
	const char *planted; /* for tests: what is wrong with which device */
};

/* What ranks share after a round. */
struct round {
	int64_t stop, over, steps;
	int64_t wrong, reasons;
	double rate;
	int32_t celsius, mhz;
};

/* --- devices -----------------------------------------------------------------------------------
 */

static const struct place_device *place_of(const struct run *r, int i)
{
	const struct place *place = &r->training->place;

	return &place->devices[r->settings->mode == MODE_DP ? i : place->ranks > 1 ? r->rank : 0];
}

static void begin_device(struct burn *b, int i)
{
	const struct place_device *place = place_of(b->run, i);
	const struct place *all = &b->run->training->place;
	struct burned *d = &b->devices[i];

	d->health = gpu_health_open(place->uuid);
	d->before = d->last = gpu_health_read(d->health);
	d->found = (struct burn_device){
		.rank = b->run->rank,
		.physical = place->physical,
		.max_celsius = -1,
		.min_mhz = -1,
		.reasons = -1,
		.used_bytes = -1,
		.corrected = -1,
		.uncorrected = -1,
	};
	if (all->world > all->local_world)
		gethostname(d->found.host, sizeof(d->found.host) - 1);
	/* Simulated devices share the cores of this machine with all that runs on it, so none is
	 * too slow, unless a test plants one. */
	d->found.behind = 0.1;
	if (backend_simulates(b->run->training->backend->name))
		d->found.behind = b->planted && strncmp(b->planted, "slow:", 5) == 0 ? 0.4 : 1.0;
	snprintf(d->found.uuid, sizeof(d->found.uuid), "%s", place->uuid);
	snprintf(d->found.name, sizeof(d->found.name), "%s", place->name);
}

static int64_t increase(int64_t before, int64_t now)
{
	return before < 0 || now < 0 ? -1 : now - before;
}

/* Heat, or the board. A slowdown without its reason may be set for a moment, while clocks change.
 */
static bool is_slowed(const struct gpu_state *state, const struct gpu_state *last)
{
	int64_t sure = NVML_CLOCKS_SW_THERMAL | NVML_CLOCKS_HW_THERMAL | NVML_CLOCKS_HW_POWER_BRAKE;

	if (state->reasons < 0)
		return false;
	return (state->reasons & sure) ||
	       (state->reasons & NVML_CLOCKS_HW_SLOWDOWN && last->reasons > 0 &&
		last->reasons & NVML_CLOCKS_HW_SLOWDOWN);
}

/* While it is busy. */
static void sample(struct burned *d)
{
	struct gpu_state state = gpu_health_read(d->health);
	struct burn_device *f = &d->found;

	f->samples++;
	f->slowed += is_slowed(&state, &d->last);
	if (state.celsius > f->max_celsius)
		f->max_celsius = state.celsius;
	if (state.mhz >= 0 && (f->min_mhz < 0 || state.mhz < f->min_mhz))
		f->min_mhz = state.mhz;
	if (state.reasons >= 0)
		f->reasons = (f->reasons < 0 ? 0 : f->reasons) | state.reasons;
	if (state.used_bytes > f->used_bytes)
		f->used_bytes = state.used_bytes;
	f->corrected = increase(d->before.corrected, state.corrected);
	f->uncorrected = increase(d->before.uncorrected, state.uncorrected);
	if (!*f->lost)
		memcpy(f->lost, state.lost, sizeof(f->lost));
	d->last = state;
}

static int compare_rates(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Without the first, in which libraries still prepare. */
static double median_rate(const struct burned *d)
{
	double rates[RATES];
	int64_t first = d->found.checks > 1, last = d->found.checks, n;

	n = last - first < RATES ? last - first : RATES;
	for (int64_t i = 0; i < n; i++)
		rates[i] = d->rates[(last - 1 - i) % RATES];
	if (n == 0)
		return 0;
	qsort(rates, (size_t)n, sizeof(*rates), compare_rates);
	return (rates[(n - 1) / 2] + rates[n / 2]) / 2;
}

/* --- checks ------------------------------------------------------------------------------------
 */

/* Whether "WHAT:N" is planted in this device. */
static bool is_planted(const struct burn *b, const char *what, const struct burned *d)
{
	size_t length = strlen(what);
	char number[16];

	snprintf(number, sizeof(number), "%d", d->found.physical);
	return b->planted && strncmp(b->planted, what, length) == 0 && b->planted[length] == ':' &&
	       strcmp(b->planted + length + 1, number) == 0;
}

static void take_check(const struct burn *b, struct burned *d, const struct device_check *check)
{
	struct burn_device *f = &d->found;
	double seconds = (double)check->ns * (is_planted(b, "slow", d) ? 1e-8 : 1e-9);

	if (f->checks == 0)
		f->hash = check->hash;
	f->wrong += check->hash != f->hash;
	d->rates[f->checks++ % RATES] = (double)b->samples / (seconds > 0 ? seconds : 1e-9);
	f->rate = median_rate(d);
}

static bool check_devices(struct burn *b, struct train_error *error)
{
	struct run *r = b->run;
	struct device_check checks[PLACE_MAX_DEVICES];
	const struct step_input input = {
		.indices = r->indices,
		.count = b->samples,
		.of_all = b->samples,
	};

	for (int64_t i = 0; i < b->samples; i++)
		r->indices[i] = i % r->training->train.samples;
	for (int i = 0; i < b->count; i++)
		checks[i] = (struct device_check){.flip = b->devices[i].found.checks > 0 &&
							  is_planted(b, "flip", &b->devices[i])};
	if (!r->parallel->calls->check(r->parallel, &input, checks, error))
		return false;
	for (int i = 0; i < b->count; i++)
		take_check(b, &b->devices[i], &checks[i]);
	return true;
}

/* --- rounds ------------------------------------------------------------------------------------
 */

static struct round this_round(const struct burn *b, int stop, int64_t took_ns)
{
	int64_t each = took_ns / b->steps > 0 ? took_ns / b->steps : 1;
	struct round round = {
		.stop = stop ? stop : stop_asked(),
		.over = timeline_now() - b->begin_ns >= b->run->settings->burn_ms * 1000000,
		.steps = INT64_C(1000000) * ROUND_MS / each,
		.reasons = -1,
		.celsius = -1,
		.mhz = -1,
	};

	round.steps = round.steps > 0 ? round.steps : 1;
	for (int i = 0; i < b->count; i++) {
		const struct burned *d = &b->devices[i];

		round.wrong += d->found.wrong;
		round.rate += d->found.rate;
		round.celsius = d->last.celsius > round.celsius ? d->last.celsius : round.celsius;
		if (d->last.mhz >= 0 && (round.mhz < 0 || d->last.mhz < round.mhz))
			round.mhz = d->last.mhz;
		if (d->last.reasons >= 0)
			round.reasons = (round.reasons < 0 ? 0 : round.reasons) | d->last.reasons;
	}
	return round;
}

static void add_round(struct round *sum, const struct round *more)
{
	if (sum->stop == 0)
		sum->stop = more->stop;
	sum->wrong += more->wrong;
	sum->rate += more->rate;
	if (more->celsius > sum->celsius)
		sum->celsius = more->celsius;
	if (more->mhz >= 0 && (sum->mhz < 0 || more->mhz < sum->mhz))
		sum->mhz = more->mhz;
	if (more->reasons >= 0)
		sum->reasons = (sum->reasons < 0 ? 0 : sum->reasons) | more->reasons;
}

static void note(struct burn *b, const struct round *all)
{
	double seconds = (double)(timeline_now() - b->begin_ns) * 1e-9;
	char time[NUMBER_TEXT], total[NUMBER_TEXT], rate[NUMBER_TEXT], heat[64] = "";
	char reasons[BURN_REASONS];

	if (!b->run->metrics || timeline_now() - b->noted_ns < INT64_C(1000000) * NOTE_MS)
		return;
	b->noted_ns = timeline_now();
	if (all->celsius >= 0)
		snprintf(heat, sizeof(heat), ", hottest %d C", all->celsius);
	if (all->mhz >= 0)
		snprintf(heat + strlen(heat), sizeof(heat) - strlen(heat), ", slowest %d MHz",
			 all->mhz);
	burn_reasons(reasons, all->reasons);
	metrics_note(b->run->metrics, "burn %s of %s: %s samples/s in checks, %lld wrong%s%s%s",
		     number_time(time, seconds),
		     number_time(total, (double)b->run->settings->burn_ms * 1e-3),
		     number_fixed(rate, all->rate, 1), (long long)all->wrong, heat,
		     *reasons ? ", slowed by " : "", reasons);
}

/* Rank 0 decides how long a round is, and when the time is over. */
static bool share_round(struct burn *b, struct round *round, struct train_error *error)
{
	struct run *r = b->run;
	int world = r->comm->world;
	struct round *all = malloc((size_t)world * sizeof(*all));
	bool done = all || train_nomem(error, "a round of the burn test");

	done = done && r->comm->calls->all_gather(r->comm, round, all, sizeof(*round),
						  "a round of the burn test", error);
	if (done) {
		*round = all[0];
		for (int i = 1; i < world; i++)
			add_round(round, &all[i]);
	}
	free(all);
	return done;
}

static bool steps_and_checks(struct burn *b, int *stop, struct train_error *error)
{
	struct run *r = b->run;

	for (int64_t i = 0; i < b->steps; i++) {
		if (!run_step(r, stop, error))
			return false;
		/* The same samples again. */
		if (r->epoch_step == r->sampler.steps)
			r->epoch_step = 0;
	}
	for (int i = 0; i < b->count; i++)
		sample(&b->devices[i]);
	if (!run_settle(r, stop, error))
		return false;
	for (int i = 0; i < CHECKS; i++)
		if (!check_devices(b, error))
			return false;
	return true;
}

static bool burn_rounds(struct burn *b, struct train_error *error)
{
	struct round round = {.stop = 0};
	int stop = 0;

	while (!round.stop && !round.over) {
		int64_t begin = timeline_now();

		if (!steps_and_checks(b, &stop, error))
			return false;
		round = this_round(b, stop, timeline_now() - begin);
		if (!share_round(b, &round, error))
			return false;
		b->steps = round.steps;
		note(b, &round);
	}
	b->run->stopped = (int)round.stop;
	return true;
}

/* --- the test ----------------------------------------------------------------------------------
 */

static bool report(struct burn *b, struct train_error *error)
{
	struct burn_device mine[PLACE_MAX_DEVICES];
	void *all = NULL;
	int count;
	bool done;

	for (int i = 0; i < b->count; i++)
		mine[i] = b->devices[i].found;
	metrics_end(b->run->metrics);
	done = run_collect(b->run, mine, b->count, sizeof(*mine), &all, &count,
			   "the burn test's devices", error);
	if (done && b->run->rank == 0) {
		b->run->training->found = burn_report(stdout, all, count);
		fflush(stdout);
	}
	free(all);
	return done;
}

/* Samples that fit into a pass of each device. */
static int64_t samples_of_check(const struct run *r)
{
	int64_t pass = r->training->rank_batch / r->settings->accumulate;
	int64_t each = r->settings->mode == MODE_DP ? pass / r->parallel->devices : pass;

	return each > 0 ? each : 1;
}

bool run_burn(struct run *r, struct train_error *error)
{
	struct burn b = {
		.run = r,
		.count = r->parallel->devices,
		.devices = calloc((size_t)r->parallel->devices, sizeof(*b.devices)),
		.begin_ns = timeline_now(),
		.noted_ns = timeline_now(),
		.steps = 1,
		.samples = samples_of_check(r),
		.planted = getenv("GPUMAP_TEST_BURN"),
	};
	bool done;

	if (!b.devices)
		return train_nomem(error, "the burn test");
	for (int i = 0; i < b.count; i++)
		begin_device(&b, i);
	r->last_ns = timeline_now();
	stop_later();
	done = burn_rounds(&b, error) && report(&b, error);
	for (int i = 0; i < b.count; i++)
		gpu_health_close(b.devices[i].health);
	free(b.devices);
	return done;
}
