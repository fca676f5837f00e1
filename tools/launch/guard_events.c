/* SPDX-License-Identifier: MIT */
/* The guard's events about the ranks, and the launcher's reactions. */
#include "supervise.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "closing.h"
#include "process_tree.h"

void guard_send(struct supervisor *s, enum guard_command command, int sig)
{
	struct guard_order order = {.command = command, .signal = sig};

	/* If the guard is gone, the loop learns it from the socket. */
	if (s->guard >= 0)
		send(s->guard, &order, sizeof(order), MSG_NOSIGNAL);
}

static void show(const struct supervisor *s, size_t index)
{
	if (s->launch->changed)
		s->launch->changed(s->launch->data, index, &s->result->ranks[index]);
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
	show(s, (size_t)m->rank);
	console_rank_ended(&s->console, (size_t)m->rank);
	if (e->status && e->start_ns)
		failure_note(s, e);
}

static void ranks_started(struct supervisor *s, const struct guard_message *m)
{
	for (size_t i = 0; i < s->result->count; i++) {
		s->result->ranks[i].start_ns = m->ns;
		s->result->ranks[i].started = m->wall;
		show(s, i);
	}
}

/* The first reason decides; the same line for each of 512 ranks would not help. */
static void rank_refused(struct supervisor *s, const struct guard_message *m)
{
	bool started = s->result->ranks[m->rank].start_ns != 0;

	if (!s->refused) {
		s->refused = true;
		s->refusal = launch_refuse(&s->launch->ranks[m->rank], m->stage, m->error,
					   s->launch->speech, s->report);
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
		close_variable(&s->guard);
		if (!s->empty)
			replace_guard(s);
		return;
	}
}
