/* SPDX-License-Identifier: MIT */
/* See launch.h. */
#include "launch.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "closing.h"
#include "supervise.h"

static int run(struct supervisor *s)
{
	int r;

	do {
		r = s->launch->before ? s->launch->before(s->launch->data, s->result->restarts)
				      : GPUMAP_OK;
		if (r != GPUMAP_OK)
			return r;
		if (!supervise(s))
			return GPUMAP_EFILE;
	} while (on_fail_again(s));
	supervise_conclude(s);
	return s->refused || s->result->cause == LAUNCH_BROKEN ? GPUMAP_EINPUT : GPUMAP_OK;
}

static int prepare(struct supervisor *s)
{
	size_t files = console_files(s->launch);
	int r;

	if (!process_state_enter(&s->state, s->launch, files) && errno != EMFILE && errno != ENFILE)
		return report_fail(s->report, GPUMAP_EFILE, FINDING_LAUNCH, NULL,
				   "/dev/null cannot be opened: %s", strerror(errno));
	if (s->state.null < 0)
		return report_fail(
			s->report, GPUMAP_EFILE, FINDING_LAUNCH,
			ABOUT(.speech = s->launch->speech,
			      .fix = SETTING("console = raw") " without logs needs none; or raise "
							      "'ulimit -Hn'"),
			"%zu ranks need %zu open files: %s", s->launch->count, files,
			strerror(errno));
	r = console_open(&s->console, s->launch, s->report);
	if (r != GPUMAP_OK)
		return r;
	rank_cgroup_make(&s->cgroup, s->state.null, s->launch->held);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->signals = signalfd(-1, &s->state.caught, SFD_CLOEXEC | SFD_NONBLOCK);
	s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->epoll < 0 || !epoll_add(s->epoll, s->signals, &s->signals) ||
	    !epoll_add(s->epoll, s->timer, &s->timer) ||
	    !epoll_add(s->epoll, s->console.epoll, &s->console))
		return report_fail(s->report, GPUMAP_EFILE, FINDING_LAUNCH, NULL,
				   "the ranks cannot be watched: %s", strerror(errno));
	if (s->launch->timeout_ms > 0)
		s->deadlines[DEADLINE_LIMIT] = now_ns() + s->launch->timeout_ms * NS_PER_MS;
	return GPUMAP_OK;
}

int launch_run(const struct launch *launch, struct launch_result *result, gpumap_report *report)
{
	struct supervisor s = {.launch = launch,
			       .result = result,
			       .report = report,
			       .epoll = -1,
			       .signals = -1,
			       .timer = -1,
			       .guard = -1,
			       .console = {.epoll = -1, .streams_epoll = -1, .timer = -1}};
	int r;

	*result = (struct launch_result){.status = STATUS_OWN_FAILURE, .cause = LAUNCH_DONE};
	if (launch->count == 0)
		return report_fail(report, GPUMAP_EINPUT, FINDING_LAUNCH, NULL,
				   "there are no ranks to start on this host");
	result->ranks = calloc(launch->count, sizeof(*result->ranks));
	if (!result->ranks)
		return report_nomem(report);
	result->count = launch->count;
	r = prepare(&s);
	if (r == GPUMAP_OK)
		r = run(&s);
	if (r != GPUMAP_OK && result->cause == LAUNCH_DONE)
		result->cause = LAUNCH_BROKEN;
	rank_cgroup_end(&s.cgroup);
	console_close(&s.console);
	close_variable(&s.epoll);
	close_variable(&s.signals);
	close_variable(&s.timer);
	process_state_leave(&s.state);
	return r;
}

void launch_result_free(struct launch_result *result)
{
	for (size_t i = 0; i < result->count; i++)
		free(result->ranks[i].last_lines);
	free(result->ranks);
	*result = (struct launch_result){0};
}
