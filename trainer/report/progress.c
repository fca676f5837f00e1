/* SPDX-License-Identifier: MIT */
/* See progress.h. */
#include "report/progress.h"

#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "report/format.h"
#include "report/timeline.h"
#include "write_all.h"

/* A terminal shows "^C" after the bar, and the next bar covers it. */
enum { SLOWEST = 64, LINE = 1024, COLUMNS = 80, TYPED = 2 };
static const int64_t bar_ns = 100000000, line_ns = 2000000000, moment_ns = 100000000;

/* The progress that writes to stderr; a process has at most one. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct progress *shown;

void progress_open(struct progress *progress, const struct metrics_options *options)
{
	*progress = (struct progress){.style = options->progress,
				      .epochs = options->epochs,
				      .epoch_steps = options->epoch_steps,
				      .steps = options->steps,
				      .begun = clock_ns(),
				      .seconds = options->seconds,
				      .shown = clock_ns()};
	if (progress->style == PROGRESS_AUTO)
		progress->style = isatty(STDERR_FILENO) ? PROGRESS_BAR : PROGRESS_LINES;
	if (progress->epoch_steps <= 0 && options->epochs > 0)
		progress->epoch_steps = (options->steps + options->epochs - 1) / options->epochs;
	tally_open(&progress->tally, options->ranks);
	pthread_mutex_lock(&mutex);
	if (progress->style != PROGRESS_NONE)
		shown = progress;
	pthread_mutex_unlock(&mutex);
}

/* --- writing ---------------------------------------------------------------------- */

/* Each line is one write, so that those of other processes do not mix in. A terminal that is gone
 * does not end a training run. */

/* The last column stays empty: some terminals continue on the next line there. */
static int columns(void)
{
	struct winsize size;
	int width = COLUMNS;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		width = size.ws_col;
	width = (width < PROGRESS_WIDEST ? width : PROGRESS_WIDEST) - 1 - TYPED;
	return width > 0 ? width : 0;
}

/* Replaces the bar: spaces cover a longer one, and typed text. The cursor stays at its end. */
static void put_bar(struct progress *progress, const char *text, int length)
{
	char line[3 * PROGRESS_WIDEST + 16];
	int max = columns(), before = progress->width < max ? progress->width : max;
	int spaces = progress->width ? (before > length ? before - length : 0) + TYPED : 0;
	int n = snprintf(line, sizeof(line), "\r%s", text);

	if (spaces)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%*s\r%s", spaces, "", text);
	write_all(STDERR_FILENO, line, (size_t)n);
	progress->width = length;
}

/* Writes a line of its own, and removes the bar. */
static void put_line(struct progress *progress, const char *text)
{
	char line[LINE];
	int n;

	if (progress->width)
		put_bar(progress, "", 0);
	n = snprintf(line, sizeof(line) - 1, "%s", text);
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n] = '\n';
	write_all(STDERR_FILENO, line, (size_t)n + 1);
}

/* --- steps ------------------------------------------------------------------------ */

static void slowest_text(char text[SLOWEST], const struct tally *tally)
{
	double part;
	int rank;

	text[0] = '\0';
	if (tally_slowest(tally, &rank, &part))
		snprintf(text, SLOWEST, "slowest rank %d (+%.0f %%)", rank, 100 * fmin(part, 1000));
}

/* Steps of the epoch that is shown, which may be the last and cut short. */
static int64_t places(const struct progress *progress)
{
	int64_t before = progress->epoch * progress->epoch_steps;

	if (progress->epoch_steps <= 0)
		return 0;
	if (progress->steps > before && progress->steps - before < progress->epoch_steps)
		return progress->steps - before;
	return progress->epoch_steps;
}

static struct progress_state state_of(const struct progress *progress, double rate)
{
	const struct tally *tally = &progress->tally;

	return (struct progress_state){.elapsed = (double)(clock_ns() - progress->begun) * 1e-9,
				       .seconds = progress->seconds,
				       .epoch = progress->epoch,
				       .epochs = progress->epochs,
				       .place = progress->place,
				       .places = places(progress),
				       .loss = tally_loss(tally),
				       .accuracy = tally_accuracy(tally),
				       .rate = rate,
				       .left = NAN};
}

static int print_state(const struct progress *progress, char line[PROGRESS_WIDEST + 1], int max)
{
	const struct tally *tally = &progress->tally;
	char slowest[SLOWEST];
	struct progress_state state = state_of(progress, tally_recent_rate(tally));

	slowest_text(slowest, tally);
	state.slowest = slowest[0] ? slowest : NULL;
	if (state.seconds > 0)
		state.left = fmax(state.seconds - state.elapsed, 0);
	else if (state.places >= state.place)
		state.left = (double)(state.places - state.place) * tally_recent_step(tally);
	return progress_line(line, max, progress->style == PROGRESS_BAR, &state);
}

static void show(struct progress *progress, bool last)
{
	int64_t now = clock_ns(), since = now - progress->shown;
	int length;

	if (progress->style == PROGRESS_BAR && (since >= bar_ns || last)) {
		length = print_state(progress, progress->bar, columns());
		put_bar(progress, progress->bar, length);
		progress->shown = now;
	} else if (progress->style == PROGRESS_LINES && since >= line_ns && !last) {
		print_state(progress, progress->bar, PROGRESS_WIDEST);
		put_line(progress, progress->bar);
		progress->shown = now;
	}
}

/* The line that is kept of an epoch, with its test; NULL: there was none. */
static void finish_epoch(struct progress *progress, const char *test)
{
	const struct tally *tally = &progress->tally;
	struct progress_state state = state_of(progress, (double)tally->samples / tally->seconds);
	char line[LINE], slowest[SLOWEST];
	int room = progress->style == PROGRESS_BAR ? columns() : LINE;

	progress->pending = false;
	if (state.place == state.places) {
		state.place = -1;
		state.places = 0;
	}
	progress_line(line, PROGRESS_WIDEST, false, &state);
	if (test)
		text_append(line, LINE, "  %s", test);
	if (progress->seconds <= 0)
		text_append(line, LINE, "  %.1f s", tally->seconds);
	if (tally->skipped)
		text_append(line, LINE, "  %" PRId64 " steps skipped", tally->skipped);
	slowest_text(slowest, tally);
	if (slowest[0] && (int)(strlen(line) + 2 + strlen(slowest)) <= room)
		text_append(line, LINE, "  %s", slowest);
	put_line(progress, line);
}

void progress_step(struct progress *progress, const struct step_metrics *step)
{
	if (progress->style == PROGRESS_NONE)
		return;
	pthread_mutex_lock(&mutex);
	if (progress->pending && progress->epoch != step->epoch)
		finish_epoch(progress, NULL);
	if (!progress->pending) {
		tally_begin(&progress->tally);
		progress->epoch = step->epoch;
		progress->pending = true;
	}
	tally_step(&progress->tally, step);
	progress->place = step->step - step->epoch * progress->epoch_steps;
	if (progress->epoch_steps <= 0 || progress->place < 1 ||
	    progress->place > progress->epoch_steps)
		progress->place = progress->tally.steps;
	show(progress, progress->place == places(progress));
	pthread_mutex_unlock(&mutex);
}

static void note(struct progress *progress, const char *text)
{
	struct train_error escaped = {.status = TRAIN_OK};
	bool bar = progress->width > 0;

	train_fail(&escaped, TRAIN_FAILED, "%s", text);
	put_line(progress, escaped.text);
	if (bar)
		put_bar(progress, progress->bar, print_state(progress, progress->bar, columns()));
}

void progress_evaluation(struct progress *progress, const struct evaluation_metrics *evaluation)
{
	char test[LINE], loss[NUMBER_TEXT];

	if (progress->style == PROGRESS_NONE)
		return;
	snprintf(test, sizeof(test), "test loss %s  acc %.1f %%",
		 number_loss(loss, evaluation->loss), 100 * evaluation->accuracy);
	pthread_mutex_lock(&mutex);
	if (progress->pending && progress->epoch == evaluation->epoch)
		finish_epoch(progress, test);
	else
		note(progress, test);
	pthread_mutex_unlock(&mutex);
}

void progress_note(struct progress *progress, const char *text)
{
	if (progress->style == PROGRESS_NONE)
		return;
	pthread_mutex_lock(&mutex);
	note(progress, text);
	pthread_mutex_unlock(&mutex);
}

void progress_end(struct progress *progress)
{
	pthread_mutex_lock(&mutex);
	if (progress->pending && progress->style != PROGRESS_NONE)
		finish_epoch(progress, NULL);
	else if (progress->width)
		put_bar(progress, "", 0);
	if (shown == progress)
		shown = NULL;
	pthread_mutex_unlock(&mutex);
}

void progress_close(struct progress *progress)
{
	progress_end(progress);
	tally_close(&progress->tally);
}

/* --- from another thread ------------------------------------------------------------ */

static bool lock_soon(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += moment_ns;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	return pthread_mutex_timedlock(&mutex, &until) == 0;
}

static bool takes_text(void)
{
	struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&out, 1, 0) == 1 && (out.revents & POLLOUT);
}

bool progress_show_text(const char *text)
{
	bool printed;

	if (!lock_soon())
		return false;
	printed = shown && takes_text();
	if (printed)
		note(shown, text);
	pthread_mutex_unlock(&mutex);
	return printed;
}

/* Keeps the lock. */
void progress_abandon(void)
{
	if (lock_soon() && shown && shown->width && takes_text())
		write_all(STDERR_FILENO, "\n", 1);
}
