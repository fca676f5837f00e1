/* SPDX-License-Identifier: MIT */
/* The launcher's loop. It sleeps until the guard, a signal, a deadline or the console needs it. */
#include "supervise.h"
#include "closing.h"
#include "process_tree.h"
#include "signal_name.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* One Ctrl-C can arrive twice, through a wrapper. */
enum { AGAIN_MS = 250 };

static void set_deadline(struct supervisor *s, enum deadline which, int64_t ms)
{
	s->deadlines[which] = now_ns() + ms * NS_PER_MS;
}

static void arm(struct supervisor *s)
{
	struct itimerspec at = {0};
	int64_t first = 0;

	for (int i = 0; i < DEADLINE_COUNT; i++)
		if (s->deadlines[i] && (!first || s->deadlines[i] < first))
			first = s->deadlines[i];
	if (first == s->armed_ns)
		return;
	s->armed_ns = first;
	at.it_value = (struct timespec){first / 1000000000, first % 1000000000};
	timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

void supervise_kill(struct supervisor *s)
{
	if (s->ending >= KILLING)
		return;
	if (!s->stop_ns)
		s->stop_ns = now_ns();
	s->ending = KILLING;
	guard_send(s, GUARD_KILL, 0);
	s->deadlines[DEADLINE_GRACE] = s->deadlines[DEADLINE_LINGER] = 0;
	set_deadline(s, DEADLINE_GIVE_UP, GIVE_UP_MS);
}

void supervise_stop(struct supervisor *s)
{
	if (s->ending != RUNNING)
		return;
	s->stop_ns = now_ns();
	s->deadlines[DEADLINE_WINDOW] = s->deadlines[DEADLINE_LINGER] = 0;
	if (s->launch->grace_ms <= 0) {
		supervise_kill(s);
		return;
	}
	s->ending = STOPPING;
	guard_send(s, GUARD_END, s->launch->kill_signal ? s->launch->kill_signal : SIGTERM);
	set_deadline(s, DEADLINE_GRACE, s->launch->grace_ms);
}

static void stop_on_signal(struct supervisor *s, int sig)
{
	bool urgent = sig == SIGINT || sig == SIGQUIT;

	if (s->halted == LAUNCH_DONE) {
		s->halted = LAUNCH_SIGNALLED;
		s->result->signal = sig;
	}
	if (s->empty) {
		s->discard = true;
	} else if (s->ending == RUNNING) {
		if (!s->first_ns)
			s->result->cause = s->halted;
		console_note(&s->console, "%s: stopping the ranks%s", SIGNAL_TEXT(sig),
			     urgent ? "; once more kills them" : "");
		supervise_stop(s);
	} else if (s->ending == STOPPING && urgent &&
		   now_ns() - s->stop_ns > AGAIN_MS * (int64_t)NS_PER_MS) {
		if (s->result->cause == LAUNCH_DONE && !s->first_ns)
			s->result->cause = s->halted;
		console_note(&s->console, "%s again: killing the ranks", SIGNAL_TEXT(sig));
		supervise_kill(s);
	}
}

static void handle_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		int sig = (int)info.ssi_signo;

		if (sigismember(&s->launch->forward, sig) == 1)
			guard_send(s, GUARD_SIGNAL, sig);
		else
			stop_on_signal(s, sig);
	}
}

static void give_up(struct supervisor *s)
{
	bool seen = access("/proc/self/stat", R_OK) == 0;
	const char *fix = seen ? "'ps -eo pid,stat,wchan,args' shows them in state D; often a "
				 "device hangs"
			       : "mount /proc: without it they cannot be found";

	s->ending = GIVEN_UP;
	if (s->living)
		report_add(s->report, FINDING_UNKILLABLE, ABOUT(.fix = fix),
			   "%zu ranks are still there %d s after SIGKILL", s->living,
			   GIVE_UP_MS / 1000);
	else
		report_add(s->report, FINDING_UNKILLABLE, ABOUT(.fix = fix),
			   "processes that the ranks left behind are still there %d s after "
			   "SIGKILL",
			   GIVE_UP_MS / 1000);
}

static void handle_deadline(struct supervisor *s, enum deadline which)
{
	if (which == DEADLINE_LIMIT && s->halted == LAUNCH_DONE)
		s->halted = LAUNCH_TIMED_OUT;
	if (s->empty)
		return;
	switch (which) {
	case DEADLINE_LIMIT:
		if (s->ending == RUNNING && !s->first_ns)
			s->result->cause = s->halted;
		console_note(&s->console, "the time limit is reached: stopping the ranks");
		supervise_stop(s);
		break;
	case DEADLINE_WINDOW:
		supervise_stop(s);
		break;
	case DEADLINE_LINGER:
		s->result->left_behind = tree_signal(s->guard_pid, NULL, 0);
		supervise_stop(s);
		break;
	case DEADLINE_GRACE:
		supervise_kill(s);
		break;
	case DEADLINE_GIVE_UP:
		give_up(s);
		break;
	case DEADLINE_COUNT:
		break;
	}
}

static void handle_timer(struct supervisor *s)
{
	int64_t now = now_ns();
	uint64_t times;

	s->armed_ns = 0;
	if (read(s->timer, &times, sizeof(times)) < 0 && errno != EAGAIN)
		return;
	for (int i = 0; i < DEADLINE_COUNT; i++) {
		if (!s->deadlines[i] || s->deadlines[i] > now)
			continue;
		s->deadlines[i] = 0;
		handle_deadline(s, (enum deadline)i);
	}
}

static void loop_once(struct supervisor *s)
{
	struct epoll_event events[4];
	int n;

	arm(s);
	n = epoll_wait(s->epoll, events, ARRAY_SIZE(events), -1);
	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr == &s->guard)
			guard_read_events(s);
		else if (events[i].data.ptr == &s->signals)
			handle_signals(s);
		else if (events[i].data.ptr == &s->timer)
			handle_timer(s);
		else
			console_read(&s->console);
	}
}

/* Writes the rest of the output, as fast as the console takes it. */
static void finish_output(struct supervisor *s)
{
	while (!s->discard && !console_disconnect(&s->console))
		loop_once(s);
	if (s->discard) /* a second signal while only the console is waited for */
		for (size_t i = 0; i < s->console.sink_count; i++)
			sink_drop(&s->console.sinks[i]);
	console_disconnect(&s->console);
	while (!s->discard && !console_flush(&s->console))
		loop_once(s);
}

static void reset(struct supervisor *s)
{
	for (size_t i = 0; i < s->result->count; i++) {
		free(s->result->ranks[i].last_lines);
		s->result->ranks[i] = (struct launch_exit){.status = -1};
	}
	s->ending = RUNNING;
	s->empty = s->refused = false;
	s->first_ns = s->stop_ns = 0;
	s->living = 0;
	for (int i = DEADLINE_WINDOW; i < DEADLINE_COUNT; i++)
		s->deadlines[i] = 0;
}

bool supervise(struct supervisor *s)
{
	reset(s);
	s->others[0] = s->cgroup.keeper;
	s->other_count = 1 + tree_children(getpid(), s->others + 1, ARRAY_SIZE(s->others) - 1);
	if (console_connect(&s->console))
		s->guard_pid = guard_start(s->launch, &s->state, &s->cgroup, s->console.streams,
					   &s->guard);
	else
		s->guard_pid = -1;
	s->result->in_cgroup = s->cgroup.made;
	if (s->guard_pid < 0) {
		report_add(s->report, FINDING_LAUNCH, NULL, "the ranks cannot be started: %s",
			   strerror(errno));
		console_close_writers(&s->console);
		console_disconnect(&s->console);
		return false;
	}
	console_close_writers(&s->console);
	if (!epoll_add(s->epoll, s->guard, &s->guard))
		supervise_kill(s);
	while (!s->empty && s->ending != GIVEN_UP)
		loop_once(s);
	s->empty = true;
	finish_output(s);
	close_variable(&s->guard);
	/* A guard that waits for a process stuck in the kernel is left alone. */
	if (s->ending != GIVEN_UP)
		waitpid(s->guard_pid, NULL, 0);
	for (size_t i = 0; i < s->result->count; i++)
		s->result->ranks[i].last_lines = console_last_lines(&s->console, i);
	return true;
}
