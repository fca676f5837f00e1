/* SPDX-License-Identifier: MIT */
/*
 * gpumap ps --follow. On a terminal each frame replaces the one before it, on the screen that full
 * programs use; q, or the signal that ends or stops it, brings the old screen back. In the
 * background it draws nothing. Elsewhere frames follow each other, separated by empty lines.
 */
#include "live/ps.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cli/out_of_memory.h"
#include "cli/output.h"
#include "report/report.h"

/* The other screen, without a cursor. Lines that do not fit, as those of a narrower terminal, do
 * not continue on the next line. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_REST "\033[J"

static volatile sig_atomic_t ended, stopped;
static volatile sig_atomic_t entered; /* the other screen is shown */
static struct termios typed;          /* how the terminal reads keys outside of that screen */
static volatile sig_atomic_t keys;    /* it gives them one by one */

/* Whether standard input is a terminal from which q can be read. */
static bool keys_begin(void)
{
	struct termios one;

	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &typed))
		return false;
	one = typed;
	one.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	one.c_cc[VMIN] = one.c_cc[VTIME] = 0;
	keys = tcsetattr(STDIN_FILENO, TCSANOW, &one) == 0;
	return keys;
}

static void keys_end(void)
{
	if (keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &typed);
	keys = false;
}

static void restore_terminal(void)
{
	bool shown = entered;

	keys_end();
	entered = false;
	if (shown && write(STDOUT_FILENO, LEAVE, strlen(LEAVE)) < 0)
		return; /* the terminal is gone */
}

/* NVML can hang. Then the second signal ends the process as if it were not caught. */
static void end(int sig)
{
	if (ended) {
		restore_terminal();
		signal(sig, SIG_DFL);
		raise(sig);
	}
	ended = sig;
}

static void stop(int sig)
{
	stopped = sig;
}

/* Only wakes the loop. */
static void wake(int sig)
{
}

/* --- the size of the terminal --------------------------------------------------------- */

static size_t rows(void)
{
	struct winsize size = {.ws_row = 0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1)
		return size.ws_row;
	return SIZE_MAX;
}

/* --- a frame -------------------------------------------------------------------------- */

/* Copies the lines that fit on the screen. If some do not, the last one counts them. A line is
 * cleared before it is written: after its last cell was written, that would be cleared. */
static void put_screen(struct strbuf *buf, const char *text, size_t height)
{
	size_t lines = 0, shown = 0;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	strbuf_puts(buf, HOME);
	while (*text && shown + (lines > height) < height) {
		size_t n = strcspn(text, "\n");

		strbuf_puts(buf, shown ? "\n" CLEAR_LINE : CLEAR_LINE);
		strbuf_add(buf, text, n);
		text += n + (text[n] == '\n');
		shown++;
	}
	if (*text)
		strbuf_printf(buf, "\n" CLEAR_LINE "... %zu more lines", lines - shown);
	else if (shown < height)
		strbuf_puts(buf, "\n" CLEAR_REST);
}

struct follower {
	struct ps_view view;
	bool json, screen;
	size_t frames;
};

/* The findings of the frame. */
static void put_findings(struct strbuf *buf, const gpumap_report *report)
{
	for (size_t i = 0; i < gpumap_report_count(report); i++) {
		const gpumap_finding *f = gpumap_report_get(report, i);

		strbuf_printf(buf, "%s [%s]\n", gpumap_finding_str(f, GPUMAP_FINDING_TEXT),
			      gpumap_finding_str(f, GPUMAP_FINDING_ID));
	}
}

static int put_frame(struct follower *f, const struct ps *ps, const gpumap_report *found,
		     gpumap_report *report)
{
	CLEANUP(strbuf_free) struct strbuf frame = {0}, whole = {0};
	const char *text;

	f->view.width = ps_width();
	if (f->json) {
		ps_json(&frame, ps, &f->view, found);
	} else {
		ps_text(&frame, ps, &f->view);
		put_findings(&frame, found);
	}
	text = frame.text ? frame.text : "";
	if (f->screen)
		put_screen(&whole, text, rows());
	else if (!f->json && f->frames)
		strbuf_puts(&whole, "\n");
	if (!f->screen)
		strbuf_puts(&whole, text);
	f->frames++;
	return print_text(whole.text, report);
}

static int follow_once(struct follower *f, gpumap_report *report)
{
	OWNED(report) *found = report_begin();
	struct ps ps;
	int r = ps_read(&ps, f->json, found);

	if (r != GPUMAP_OK) {
		report_copy_all(report, found, FINDING_COUNT);
	} else {
		ps_read_leases(&ps, found);
		if (f->view.gpus)
			r = ps_keep(&ps, f->view.gpus, report);
		if (r == GPUMAP_OK)
			r = put_frame(f, &ps, found, report);
		ps_free(&ps);
	}
	return r;
}

/* --- signals -------------------------------------------------------------------------- */

enum { ENDS = 4, STOP = ENDS, WAKES, SIGNALS = WAKES + 2 };

/* Those that end it, one that stops it, and those that only wake the loop. */
static const int caught[SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, SIGCONT};

struct signals {
	struct sigaction before[SIGNALS];
	sigset_t old, waiting, ends;
};

/* Blocks the signals, except while the loop waits: `waiting` is the mask for that. Those in `ends`
 * come while a frame is made, too. Ctrl-Z needs care only on a screen. */
static void catch_signals(struct signals *s, bool screen)
{
	sigset_t block;

	sigemptyset(&block);
	sigemptyset(&s->ends);
	for (int i = 0; i < SIGNALS; i++) {
		struct sigaction action = {.sa_handler = i < ENDS    ? end
							 : i == STOP ? stop
								     : wake,
					   .sa_flags = SA_RESTART};

		sigaction(caught[i], NULL, &s->before[i]);
		if ((s->before[i].sa_handler == SIG_IGN && i <= STOP) || (i == STOP && !screen))
			continue;
		sigaction(caught[i], &action, NULL);
		sigaddset(&block, caught[i]);
		if (i < ENDS)
			sigaddset(&s->ends, caught[i]);
	}
	sigprocmask(SIG_BLOCK, &block, &s->old);
	s->waiting = s->old;
	for (int i = 0; i < SIGNALS; i++)
		sigdelset(&s->waiting, caught[i]);
}

static void restore_signals(const struct signals *s)
{
	for (int i = 0; i < SIGNALS; i++)
		sigaction(caught[i], &s->before[i], NULL);
	sigprocmask(SIG_SETMASK, &s->old, NULL);
}

/* --- the screen ----------------------------------------------------------------------- */

static int enter(struct follower *f, gpumap_report *report)
{
	if (!f->screen || entered)
		return GPUMAP_OK;
	entered = true;
	f->view.quits = keys_begin();
	return print_text(ENTER, report);
}

/* After Ctrl-Z and bg the terminal is another program's. */
static bool in_background(const struct follower *f)
{
	pid_t group = f->screen ? tcgetpgrp(STDOUT_FILENO) : -1;

	return group >= 0 && group != getpgrp();
}

/* Stops as if the signal were not caught, with the old screen. Returns when it continues. */
static void stop_now(void)
{
	struct sigaction standard = {.sa_handler = SIG_DFL}, before;
	sigset_t only;

	fflush(stdout);
	restore_terminal();
	stopped = 0;
	sigaction(SIGTSTP, &standard, &before);
	raise(SIGTSTP);
	sigemptyset(&only);
	sigaddset(&only, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &only, NULL); /* here it stops */
	sigprocmask(SIG_BLOCK, &only, NULL);
	sigaction(SIGTSTP, &before, NULL);
}

/* --- the loop ------------------------------------------------------------------------- */

/* Waits for the next frame, a key or a signal. Without a reader there is no more to do. */
static void wait_for(const struct timespec *pause, const sigset_t *waiting)
{
	struct pollfd files[] = {{.fd = STDOUT_FILENO},
				 {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN}};
	int n = ppoll(files, ARRAY_SIZE(files), pause, waiting);
	char key = '\0';

	if (n < 0 && errno != EINTR)
		memory_ran_out();
	if (n > 0 && (files[0].revents & (POLLERR | POLLHUP)))
		ended = SIGPIPE;
	if (n > 0 && files[1].revents) {
		if (read(STDIN_FILENO, &key, 1) != 1)
			keys_end(); /* the terminal is gone */
		if (key == 'q' || key == 'Q')
			ended = SIGINT;
	}
}

static int show(struct follower *f, const struct signals *signals, gpumap_report *report)
{
	int r;

	if (in_background(f))
		return GPUMAP_OK;
	r = enter(f, report);
	sigprocmask(SIG_UNBLOCK, &signals->ends, NULL);
	if (r == GPUMAP_OK)
		r = follow_once(f, report);
	sigprocmask(SIG_BLOCK, &signals->ends, NULL);
	return r;
}

int ps_follow(const struct ps_view *view, int64_t seconds, bool json, gpumap_report *report)
{
	struct follower f = {.view = *view, .json = json, .screen = !json && isatty(STDOUT_FILENO)};
	struct timespec pause = {.tv_sec = seconds};
	struct signals signals;
	int r = GPUMAP_OK;

	f.view.dated = true;
	ended = stopped = 0;
	out_of_memory_calls(restore_terminal);
	catch_signals(&signals, f.screen);
	while (r == GPUMAP_OK && !ended) {
		r = show(&f, &signals, report);
		if (r == GPUMAP_OK && !ended)
			wait_for(&pause, &signals.waiting);
		if (stopped && !ended)
			stop_now();
	}
	fflush(stdout);
	restore_terminal();
	restore_signals(&signals);
	/* Ctrl-C is how people leave. Any other signal ends the process as if it were not caught.
	 */
	if (ended && ended != SIGINT)
		raise(ended);
	return r;
}
