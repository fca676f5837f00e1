/* SPDX-License-Identifier: MIT */
/* The guard's events about the ranks, and the launcher's reactions. */
#include "supervise.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "bind.h"

static const char *stage_text(enum stage stage)
{
	const struct bind_failure *failure = bind_failure(stage);

	if (failure)
		return failure->text;
	if (stage == STAGE_FOLDER)
		return "cannot enter its folder";
	return stage == STAGE_READY || stage == STAGE_FORK ? "cannot be forked" : "cannot execute";
}

static const char *stage_fix(const struct guard_message *m)
{
	const struct bind_failure *failure = bind_failure(m->stage);

	if (failure)
		return failure->fix;
	if (m->stage == STAGE_FOLDER)
		return "name an existing folder by " SETTING("workdir");
	if (m->stage == STAGE_READY || m->stage == STAGE_FORK)
		return m->error == EAGAIN ? "'ulimit -u' shows how many processes are allowed"
					  : NULL;
	if (m->error == ENOENT)
		return "check its name, the PATH of [env] and, of a script, the program after #!";
	if (m->error == E2BIG)
		return "pass long lists in a file";
	return m->error == EACCES ? "chmod +x makes a file executable" : NULL;
}

const char *launch_fix(bool program, int error)
{
	return stage_fix(&(struct guard_message){.stage = program ? STAGE_FIND : STAGE_FOLDER,
						 .error = error});
}

int launch_refuse(const struct launch_rank *rank, bool program, int error,
		  const struct speech *speech, gpumap_report *report)
{
	return refusal(rank,
		       &(struct guard_message){.stage = program ? STAGE_FIND : STAGE_FOLDER,
					       .error = error},
		       speech, report);
}

int refusal(const struct launch_rank *rank, const struct guard_message *m,
	    const struct speech *speech, gpumap_report *report)
{
	bool program = m->stage == STAGE_FIND || m->stage == STAGE_EXEC;
	const char *what = program ? rank->argv[0] : m->stage == STAGE_FOLDER ? rank->folder : NULL;

	if (what)
		report_add(report, FINDING_NOT_STARTED,
			   ABOUT(.fix = stage_fix(m), .speech = speech), "rank %d %s '%s': %s",
			   rank->rank, stage_text(m->stage), QUOTE(span_of(what)),
			   strerror(m->error));
	else
		report_add(report, FINDING_NOT_STARTED,
			   ABOUT(.fix = stage_fix(m), .speech = speech), "rank %d %s: %s",
			   rank->rank, stage_text(m->stage), strerror(m->error));
	return !program ? OWN_FAILURE : m->error == ENOENT ? 127 : 126;
}

void guard_send(struct supervisor *s, enum guard_command command, int sig)
{
	struct guard_order order = {.command = command, .signal = sig};

	/* If the guard is gone, the loop learns it from the socket. */
	if (s->guard >= 0)
		send(s->guard, &order, sizeof(order), MSG_NOSIGNAL);
}

static bool is_failure(const struct launch_exit *e)
{
	return e->status != 0;
}

static void rank_failed(struct supervisor *s, struct launch_exit *e)
{
	if (e->stopped)
		return;
	if (!s->first_ns)
		s->first_ns = e->end_ns;
	e->first = e->end_ns - s->first_ns <= WINDOW_MS * (int64_t)NS_PER_MS;
	if (s->launch->on_fail != LAUNCH_WAIT && s->ending == RUNNING &&
	    !s->deadlines[DEADLINE_WINDOW])
		s->deadlines[DEADLINE_WINDOW] = s->first_ns + WINDOW_MS * NS_PER_MS;
}

static void rank_ended(struct supervisor *s, const struct guard_message *m)
{
	struct launch_exit *e = &s->result->ranks[m->rank];

	e->end_ns = m->ns;
	e->ended = m->wall;
	if (m->code == CLD_EXITED) {
		e->status = m->status;
	} else {
		e->signal = m->status;
		e->dumped = m->code == CLD_DUMPED;
	}
	e->stopped = s->stop_ns && m->ns >= s->stop_ns;
	s->living--;
	console_rank_ended(&s->console, (size_t)m->rank);
	if (is_failure(e) && e->start_ns)
		rank_failed(s, e);
}

static void ranks_started(struct supervisor *s, const struct guard_message *m)
{
	for (size_t i = 0; i < s->result->count; i++) {
		s->result->ranks[i].start_ns = m->ns;
		s->result->ranks[i].started = m->wall;
	}
}

/* The first reason decides; the same line for each of 512 ranks would not help. */
static void rank_refused(struct supervisor *s, const struct guard_message *m)
{
	bool started = s->result->ranks[m->rank].start_ns != 0;

	if (!s->refused) {
		s->refused = true;
		s->refusal = refusal(&s->launch->ranks[m->rank], m, s->launch->speech, s->report);
		if (!started)
			s->result->cause = LAUNCH_REFUSED;
	}
	if (!started)
		s->ending = s->ending == RUNNING ? STOPPING : s->ending;
}

static void handle_event(struct supervisor *s, const struct guard_message *m)
{
	switch (m->event) {
	case GUARD_FORKED:
		s->result->ranks[m->rank].pid = m->pid;
		s->living++;
		break;
	case GUARD_REFUSED:
		rank_refused(s, m);
		break;
	case GUARD_STARTED:
		ranks_started(s, m);
		break;
	case GUARD_ENDED:
		rank_ended(s, m);
		break;
	case GUARD_LEFT:
		/* If a helper has noticed by itself, it needs no message. */
		if (s->ending == RUNNING)
			s->deadlines[DEADLINE_LINGER] = now_ns() + LINGER_MS * (int64_t)NS_PER_MS;
		s->deadlines[DEADLINE_WINDOW] = 0;
		break;
	case GUARD_EMPTY:
		s->empty = true;
		break;
	}
}

/* Does the guard's work: the ranks died with it, and their children are this process's now. */
static void replace_guard(struct supervisor *s)
{
	struct tree_except except = {.spared = s->others, .spared_count = s->other_count};
	pid_t children[256];

	report_add(s->report, FINDING_LAUNCH, NULL,
		   "the process that guards the ranks was killed, so the ranks are killed too");
	s->result->cause = LAUNCH_BROKEN;
	for (int64_t end = now_ns() + GIVE_UP_MS * (int64_t)NS_PER_MS; now_ns() < end;) {
		size_t living = tree_signal(getpid(), &except, SIGKILL);
		size_t count = tree_children(getpid(), children, ARRAY_SIZE(children));

		for (size_t i = 0; i < count; i++) {
			bool other = false;

			for (size_t j = 0; j < s->other_count; j++)
				other = other || s->others[j] == children[i];
			if (!other && children[i] != s->guard_pid)
				waitpid(children[i], NULL, WNOHANG);
		}
		if (living == 0)
			break;
		poll(NULL, 0, 20);
	}
	s->empty = true;
}

void guard_read_events(struct supervisor *s)
{
	struct guard_message m;

	for (;;) {
		ssize_t n = recv(s->guard, &m, sizeof(m), MSG_DONTWAIT);

		if (n == sizeof(m)) {
			handle_event(s, &m);
			continue;
		}
		/* The guard exited without reading an order; its messages follow this error. */
		if (n < 0 && errno == ECONNRESET)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, s->guard, NULL);
		close(s->guard);
		s->guard = -1;
		if (!s->empty)
			replace_guard(s);
		return;
	}
}
