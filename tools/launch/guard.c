/* SPDX-License-Identifier: MIT */
/*
 * The guard: parent of the ranks, and of every process of theirs whose own parent ended. It reports
 * each exit to the launcher and carries out the launcher's orders. If the launcher is gone, the
 * guard kills all processes below it and ends.
 */
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "closing.h"
#include "console.h"
#include "leave_caller.h"
#include "process_tree.h"
#include "guard_command_line.h"

struct guard {
	const struct launch *launch;
	const struct process_state *state;
	struct stream *outputs; /* two of each rank */
	int sock, signals;
	int statuses[2], gate[2];
	pid_t self, *pids; /* 0: it ended */
	size_t forked, ready, living;
	bool opened, refused, left, killing;
	int rounds; /* rounds of killing */
	struct rank_shown shown;
};

static void notify(struct guard *g, const struct guard_message *message)
{
	struct guard_message m = *message;

	if (g->sock < 0)
		return;
	m.ns = now_ns();
	clock_gettime(CLOCK_REALTIME, &m.wall);
	if (send(g->sock, &m, sizeof(m), MSG_NOSIGNAL) < 0)
		g->killing = true;
}

static void refuse(struct guard *g, size_t rank, enum stage stage, int error)
{
	notify(g, &(struct guard_message){.event = GUARD_REFUSED,
					  .rank = (int32_t)rank,
					  .stage = stage,
					  .error = error});
	g->refused = true;
}

/* Each rank must close the guard's open descriptors after the fork. With hundreds of ranks that is
 * most of the cost of starting them. */
static void fork_ranks(struct guard *g)
{
	for (size_t i = 0; i < 2 * g->launch->count; i++)
		close_variable(&g->outputs[i].fd);
	for (; g->forked < g->launch->count; g->forked++) {
		struct stream *outputs = &g->outputs[2 * g->forked];
		pid_t pid = fork();

		if (pid == 0) {
			close(g->gate[1]);
			rank_become(g->launch, g->state, outputs, g->forked, g->self,
				    g->statuses[1], g->gate[0]);
		}
		if (pid < 0) {
			refuse(g, g->forked, STAGE_FORK, errno);
			g->killing = true;
			return;
		}
		close_variable(&outputs[0].writer);
		close_variable(&outputs[1].writer);
		g->pids[g->forked] = pid;
		g->living++;
		notify(g, &(struct guard_message){
				  .event = GUARD_FORKED, .rank = (int32_t)g->forked, .pid = pid});
	}
}

static void open_gate(struct guard *g)
{
	char bytes[256] = {0};
	size_t left = g->launch->count;

	g->opened = true;
	notify(g, &(struct guard_message){.event = GUARD_STARTED});
	while (left > 0 && !g->killing) {
		ssize_t n = write(g->gate[1], bytes, left < sizeof(bytes) ? left : sizeof(bytes));

		if (n <= 0)
			g->killing = true;
		else
			left -= (size_t)n;
	}
}

/* Reads what the ranks report. False: every rank became its program, or is gone. */
static bool read_statuses(struct guard *g)
{
	struct guard_message status;
	ssize_t n;

	while ((n = read(g->statuses[0], &status, sizeof(status))) == sizeof(status)) {
		g->ready++;
		if (status.stage != STAGE_READY) {
			notify(g, &status);
			g->refused = true;
		}
	}
	if (!g->opened && g->ready >= g->forked && !g->killing) {
		if (g->refused)
			g->killing = true;
		else
			open_gate(g);
	}
	return n != 0;
}

static void ended(struct guard *g, const siginfo_t *info)
{
	read_statuses(g); /* the reason why it could not become its program comes first */
	for (size_t i = 0; i < g->forked; i++) {
		if (g->pids[i] != info->si_pid)
			continue;
		g->pids[i] = 0;
		rank_shown_ended(&g->shown, i);
		g->living--;
		notify(g, &(struct guard_message){.event = GUARD_ENDED,
						  .rank = (int32_t)i,
						  .pid = info->si_pid,
						  .code = info->si_code,
						  .status = info->si_status});
		if (!g->opened && !g->refused && !g->killing) {
			refuse(g, i, STAGE_FORK, ECHILD);
			g->killing = true;
		}
		return;
	}
}

/* False: no child is left. */
static bool reap(struct guard *g)
{
	for (;;) {
		siginfo_t info = {0};

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0)
			return errno != ECHILD;
		if (info.si_pid == 0)
			return true;
		ended(g, &info);
	}
}

/* Signals groups of ranks. As long as the leader is not collected, its group's number cannot be
 * reused. */
static void signal_ranks(struct guard *g, int sig)
{
	for (size_t i = 0; i < g->forked; i++) {
		if (g->pids[i] == 0)
			continue;
		if (kill(-g->pids[i], sig) < 0)
			kill(g->pids[i], sig);
	}
}

/* Signals every process once: to some programs a second SIGTERM has another meaning. */
static void end_all(struct guard *g, int sig)
{
	struct tree_except except = {.groups = g->pids, .group_count = g->forked};

	if (!g->opened) {
		g->killing = true;
		return;
	}
	signal_ranks(g, sig);
	signal_ranks(g, SIGCONT);
	tree_signal(g->self, &except, sig);
}

static void obey(struct guard *g)
{
	struct guard_order order;
	ssize_t n = recv(g->sock, &order, sizeof(order), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof(order)) {
		close_variable(&g->sock);
		g->killing = true;
	} else if (order.command == GUARD_KILL) {
		g->killing = true;
	} else if (order.command == GUARD_END) {
		end_all(g, order.signal);
	} else if (g->opened) {
		signal_ranks(g, order.signal);
	}
}

/* The next look finds processes forked since: by then their parent is dead. */
static int kill_all(struct guard *g)
{
	if (g->rounds == 0)
		signal_ranks(g, SIGKILL);
	tree_signal(g->self, NULL, SIGKILL);
	return ++g->rounds < 100 ? 20 : 1000;
}

static void watch(struct guard *g)
{
	struct signalfd_siginfo signals[16];
	int pause = -1;

	while (read_statuses(g), reap(g)) {
		struct pollfd fds[] = {{g->sock, POLLIN, 0},
				       {g->signals, POLLIN, 0},
				       {g->opened || g->killing ? -1 : g->statuses[0], POLLIN, 0}};

		if (g->living == 0 && !g->left && !g->killing) {
			size_t count = tree_signal(g->self, NULL, 0);

			g->left = true;
			notify(g, &(struct guard_message){.event = GUARD_LEFT,
							  .status = (int32_t)count});
		}
		if (g->killing)
			pause = kill_all(g);
		if (poll(fds, ARRAY_SIZE(fds), pause) < 0 && errno != EINTR)
			g->killing = true;
		if (fds[0].revents)
			obey(g);
		if (fds[1].revents && read(g->signals, signals, sizeof(signals)) < 0)
			continue;
	}
}

static bool prepare(struct guard *g)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t all, child;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigaction(SIGCHLD, &standard, NULL); /* if SIGCHLD is ignored, exits are lost */
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	prctl(PR_SET_NAME, GUARD_TITLE);
	setsid();
	g->self = getpid();
	g->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	g->pids = calloc(g->launch->count, sizeof(*g->pids));
	return g->pids && g->signals >= 0 && pipe2(g->statuses, O_CLOEXEC) == 0 &&
	       pipe2(g->gate, O_CLOEXEC) == 0 && fcntl(g->statuses[0], F_SETFL, O_NONBLOCK) == 0 &&
	       prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

static void guard_main(struct guard *g) __attribute__((noreturn));
static void guard_main(struct guard *g)
{
	if (prepare(g)) {
		const int keep[] = {g->sock, g->signals, g->statuses[0], g->gate[1]};

		fork_ranks(g);
		/* The user of a lease may revoke it: where Yama is in use, only a parent could. */
		if (g->launch->held)
			prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
		/* Not before: the ranks' arguments can be the launcher's own. */
		process_title(GUARD_TITLE, getppid());
		rank_shown_begin(&g->shown, g->launch, g->pids, getppid());
		drop_inherited(g->state->null, keep, ARRAY_SIZE(keep), g->launch->held);
		watch(g);
	} else {
		refuse(g, 0, STAGE_FORK, errno);
	}
	notify(g, &(struct guard_message){.event = GUARD_EMPTY});
	_exit(0);
}

pid_t guard_start(const struct launch *launch, const struct process_state *state,
		  struct rank_cgroup *cgroup, struct stream *outputs, int *sock)
{
	struct guard g = {.launch = launch, .state = state, .outputs = outputs};
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	pid = rank_cgroup_fork(cgroup);
	if (pid == 0) {
		close(pair[0]);
		g.sock = pair[1];
		guard_main(&g);
	}
	close(pair[1]);
	if (pid < 0)
		close(pair[0]);
	else
		*sock = pair[0];
	return pid;
}
