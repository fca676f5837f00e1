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
#include "base/clock.h"
#include "memory.h"
#include "nvml_api.h"
#include "place/gpu_health.h"
#include "report/burn_judge.h"
#include "report/format.h"
#include "report/summary.h"
#include "run/run.h"
#include "run/stop.h"

enum { RATES = 256, STEPS_MS = 1000, CHECKS_MS = 1000, NOTE_MS = 10000, NOTED = 8 };

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
	struct burn_device *all; /* of all ranks, after the last round */
	int all_count;
	int64_t begin_ns, noted_ns;
	int64_t steps, checks; /* of a round; they are the same in all ranks */
	int64_t samples;       /* of a check */
	const char *planted;   /* for tests: what is wrong with which device */
};

/* What ranks share after a round. */
struct round {
	int64_t stop, over, steps, checks;
};

/* --- devices --------------------------------------------------------------------------------- */

static void begin_device(struct burn *b, int i)
{
	const struct place_device *place = run_place_device(b->run, i);
	const struct place *all = &b->run->training->place;
	struct burned *d = &b->devices[i];

	d->health = gpu_health_open(run_device_uuid(b->run, i));
	d->before = d->last = gpu_health_read(d->health);
	d->found = (struct burn_device){
		.rank = b->run->rank,
		.physical = place->physical,
		.simulated = backend_simulates(b->run->training->backend->name),
		.behind = BURN_BEHIND,
		.celsius = -1,
		.mhz = -1,
		.max_celsius = -1,
		.min_mhz = -1,
		.now_reasons = -1,
		.reasons = -1,
		.used_bytes = -1,
		.corrected = -1,
		.uncorrected = -1,
	};
	if (all->world > all->local_world)
		gethostname(d->found.host, sizeof(d->found.host) - 1);
	/* Simulated devices share the cores of this machine with all that runs on it, so none is
	 * too slow, unless a test plants one. */
	if (d->found.simulated)
		d->found.behind = b->planted && strncmp(b->planted, "slow:", 5) == 0 ? 0.4 : 1.0;
	snprintf(d->found.uuid, sizeof(d->found.uuid), "%s", run_device_uuid(b->run, i));
	snprintf(d->found.name, sizeof(d->found.name), "%s", place->name);
}

/* What is known stays known: a GPU that is lost has no more answers. */
static void count_errors(int64_t *most, int64_t before, int64_t now)
{
	if (before >= 0 && now - before > *most)
		*most = now - before;
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

/* While it is busy, `warm`: not in the first round, while it leaves its idle clocks. */
static void sample(struct burned *d, bool warm)
{
	struct gpu_state state = gpu_health_read(d->health);
	struct burn_device *f = &d->found;

	f->samples++;
	f->slowed += is_slowed(&state, &d->last);
	f->celsius = state.celsius;
	f->mhz = state.mhz;
	f->now_reasons = state.reasons;
	if (state.celsius > f->max_celsius)
		f->max_celsius = state.celsius;
	if (warm && state.mhz >= 0 && (f->min_mhz < 0 || state.mhz < f->min_mhz))
		f->min_mhz = state.mhz;
	if (state.reasons >= 0)
		f->reasons = (f->reasons < 0 ? 0 : f->reasons) | state.reasons;
	if (state.used_bytes > f->used_bytes)
		f->used_bytes = state.used_bytes;
	count_errors(&f->corrected, d->before.corrected, state.corrected);
	count_errors(&f->uncorrected, d->before.uncorrected, state.uncorrected);
	if (!*f->lost)
		memcpy(f->lost, state.lost, sizeof(f->lost));
	d->last = state;
}

/* Without the first, in which libraries still prepare. */
static double median_rate(const struct burned *d)
{
	double rates[RATES];
	int64_t first = d->found.checks > 1, last = d->found.checks, n;

	n = last - first < RATES ? last - first : RATES;
	for (int64_t i = 0; i < n; i++)
		rates[i] = d->rates[(last - 1 - i) % RATES];
	return burn_median(rates, (int)n);
}

/* --- checks ---------------------------------------------------------------------------------- */

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
		checks[i] = (struct device_check){
			.flip = b->devices[i].found.checks > 0 &&
				is_planted(b, "flip", &b->devices[i]),
			.spoil = is_planted(b, "spoil", &b->devices[i]),
		};
	if (!r->parallel->calls->check(r->parallel, &input, checks, error))
		return false;
	for (int i = 0; i < b->count; i++)
		take_check(b, &b->devices[i], &checks[i]);
	return true;
}

/* --- rounds ---------------------------------------------------------------------------------- */

static bool is_over(const struct burn *b)
{
	return clock_ns() - b->begin_ns >= b->run->settings->burn_ms * 1000000;
}

/* How often what took this time for `count` fits into `ms`, at least once. */
static int64_t fitting(int64_t ms, int64_t took_ns, int64_t count)
{
	int64_t each = count > 0 && took_ns / count > 0 ? took_ns / count : 1;

	return 1000000 * ms / each > 0 ? 1000000 * ms / each : 1;
}

static void note(struct burn *b)
{
	int64_t now = clock_ns(), blocks = (b->all_count + NOTED - 1) / NOTED;
	char time[NUMBER_TEXT], total[NUMBER_TEXT], line[BURN_LINE];
	bool hosts = several_hosts(b->all->host, sizeof(*b->all), b->all_count);

	if (!b->run->metrics || now - b->noted_ns < INT64_C(1000000) * NOTE_MS * blocks)
		return;
	b->noted_ns = now;
	metrics_note(b->run->metrics, "burn %s of %s",
		     number_time(time, (double)(now - b->begin_ns) * 1e-9),
		     number_time(total, (double)b->run->settings->burn_ms * 1e-3));
	for (int i = 0; i < b->all_count; i++)
		metrics_note(b->run->metrics, "  %s", burn_line(line, &b->all[i], hosts));
}

/* Rank 0 decides how long a round is, and when the time is over. */
static bool share_round(struct burn *b, struct round *round, struct train_error *error)
{
	struct communicator *comm = b->run->comm;
	CLEANUP_FREE struct round *all =
		gather_all(comm, round, sizeof(*round), "a round of the burn test", error);

	if (!all)
		return false;
	*round = all[0];
	for (int i = 1; i < comm->world && round->stop == 0; i++)
		round->stop = all[i].stop;
	return true;
}

/* The devices of all ranks, for rank 0. */
static bool share_devices(struct burn *b, struct train_error *error)
{
	struct burn_device mine[PLACE_MAX_DEVICES];
	struct burn_device *all;
	int count;

	for (int i = 0; i < b->count; i++)
		mine[i] = b->devices[i].found;
	all = run_collect(b->run, mine, b->count, sizeof(*mine), &count, "the burn test's devices",
			  error);
	if (!all)
		return false;
	free(b->all);
	b->all = all;
	b->all_count = count;
	return true;
}

/* *stop is the same in all ranks after each step. */
static bool make_steps(struct burn *b, int *stop, struct train_error *error)
{
	struct run *r = b->run;
	bool warm = r->step > 0;

	/* Checks are no part of a step's time. */
	r->last_ns = clock_ns();
	for (int64_t i = 0; i < b->steps && !*stop; i++) {
		if (!run_next_step(r, stop, error))
			return false;
		/* The same samples again. */
		if (r->epoch_step == r->sampler.steps)
			r->epoch_step = 0;
	}
	for (int i = 0; i < b->count; i++)
		sample(&b->devices[i], warm);
	return run_settle(r, stop, error);
}

/* Ranks do not wait for each other here. In the last round a rank may make fewer than others, but
 * it has two, unless a signal asks for the end. */
static bool make_checks(struct burn *b, struct train_error *error)
{
	for (int64_t i = 0; i < b->checks && !stop_asked(); i++) {
		if (is_over(b) && b->devices[0].found.checks >= 2)
			break;
		if (!check_devices(b, error))
			return false;
	}
	return true;
}

static bool burn_rounds(struct burn *b, struct train_error *error)
{
	struct round round = {.stop = 0};
	int stop = 0;

	if (!share_devices(b, error))
		return false;
	while (!round.stop && !round.over) {
		int64_t begin = clock_ns(), stepped, made = b->devices[0].found.checks;

		if (!make_steps(b, &stop, error))
			return false;
		stepped = clock_ns();
		if (!stop && !make_checks(b, error))
			return false;
		made = b->devices[0].found.checks - made;
		round = (struct round){
			.stop = stop ? stop : stop_asked(),
			.over = is_over(b),
			.steps = fitting(STEPS_MS, stepped - begin, b->steps),
			.checks = fitting(CHECKS_MS, clock_ns() - stepped, made),
		};
		if (!share_round(b, &round, error) || !share_devices(b, error))
			return false;
		b->steps = round.steps;
		b->checks = round.checks;
		note(b);
	}
	b->run->stopped = (int)round.stop;
	return true;
}

/* --- the test -------------------------------------------------------------------------------- */

static void report(struct burn *b, bool failed)
{
	const struct run *r = b->run;
	struct burn_end end = {.failed = failed, .steps = r->completed};

	/* Those of float16 may overflow. */
	if (!r->scaled)
		end.infinite = r->completed - r->optimizer_step;
	metrics_end(r->metrics);
	r->training->found = burn_report(stdout, b->all, b->all_count, &end);
	fflush(stdout);
}

/* What NVML says now about a GPU of this host; one that it does not find any more is lost. False:
 * it does not answer. */
static bool look_again(struct burn_device *d)
{
	struct gpu_health *health = gpu_health_open(d->uuid);
	struct gpu_state state = gpu_health_read(health);

	if (!health)
		snprintf(state.lost, sizeof(state.lost), "it is not found any more");
	memcpy(d->lost, state.lost, sizeof(d->lost));
	gpu_health_close(health);
	return strcmp(state.lost, GPU_HEALTH_NO_ANSWER) != 0;
}

/* The error names a GPU, or a rank that does not come any more. The call that failed may be one of
 * another GPU than the one that was lost. */
static void find_culprit(const struct burn *b, const struct train_error *error)
{
	const char *host = b->devices[0].found.host;
	bool answers = true;
	int rank = -1;

	if (b->run->comm->world > 1 && !strstr(error->text, TRAIN_OR_ANOTHER))
		sscanf(error->text, "rank %d", &rank);
	for (int i = 0; i < b->all_count; i++) {
		struct burn_device *d = &b->all[i];
		bool known = d->used_bytes >= 0 || d->celsius >= 0;

		d->failed = d->rank == rank || (*d->uuid && strstr(error->text, d->uuid));
		if (answers && known && !*d->lost && strncmp(d->host, host, sizeof(d->host)) == 0)
			answers = look_again(d);
	}
}

/* The other ranks end too, so rank 0 reports what it knows. */
static void report_failed(struct burn *b, const struct train_error *error)
{
	if (b->run->rank != 0 || !b->all)
		return;
	/* NVML may not answer any more. */
	stop_failed(error);
	find_culprit(b, error);
	report(b, true);
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
		.devices = xcalloc((size_t)r->parallel->devices, sizeof(*b.devices)),
		.begin_ns = clock_ns(),
		.noted_ns = clock_ns(),
		.steps = 1,
		.checks = 2,
		.samples = samples_of_check(r),
		.planted = getenv("GPUMAP_TEST_BURN"),
	};
	bool done;

	for (int i = 0; i < b.count; i++)
		begin_device(&b, i);
	stop_later();
	done = burn_rounds(&b, error);
	if (!done)
		report_failed(&b, error);
	else if (r->rank == 0)
		report(&b, false);
	for (int i = 0; i < b.count; i++)
		gpu_health_close(b.devices[i].health);
	free(b.devices);
	free(b.all);
	return done;
}
