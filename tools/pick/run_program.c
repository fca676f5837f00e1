/* SPDX-License-Identifier: MIT */
/* Runs a program with a lease, and ends the lease when the program ends. */
#include "pick/run_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "closing.h"
#include "cli/output.h"
#include "launch/exit_status.h"
#include "launch/leave_caller.h"
#include "pick/container_client.h"
#include "pick/lease_here.h"
#include "reap.h"
#include "report/report.h"
#include "write_all.h"

/* What the guard tells pick: first the program's pid or why there is none, then its end. Before
 * that, lines for the user. */
struct news {
	pid_t pid;
	int error;                 /* of exec */
	int status;                /* as waitpid(2) gives it */
	char text[LEASE_END_TEXT]; /* a line for the user; "" */
};

/* What is run with which lease. */
struct held {
	gpumap_lease *lease;
	const char *list;
	struct pick_container *container; /* has the program's words */
	const struct lease_limits *limits;
	pid_t pick;
};

static volatile sig_atomic_t program;

/* What the terminal sends, the program gets itself. */
static void forward(int sig, siginfo_t *info, void *context)
{
	if (program > 0 && info->si_code != SI_KERNEL)
		kill(program, sig);
}

/* --- the program ------------------------------------------------------------------------ */

/* What the program inherits from the caller of pick. */
struct inherited {
	sigset_t blocked;
	void (*child)(int); /* what SIGCHLD does */
};

static void become_program(const struct held *h, int failed, const struct inherited *inherited)
	__attribute__((noreturn));
static void become_program(const struct held *h, int failed, const struct inherited *inherited)
{
	char **argv = h->container->argv;
	char keeper[16];
	int fd, error;

	snprintf(keeper, sizeof(keeper), "%d", (int)getppid());
	for (size_t i = 0; (fd = gpumap_lease_descriptor(h->lease, i)) >= 0; i++)
		fcntl(fd, F_SETFD, 0);
	signal(SIGCHLD, inherited->child);
	sigprocmask(SIG_SETMASK, &inherited->blocked, NULL);
	if (setenv("CUDA_VISIBLE_DEVICES", h->list, 1) == 0 &&
	    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1) == 0 &&
	    setenv("GPUMAP_LEASE", keeper, 1) == 0)
		execvp(*argv, argv);
	error = errno;
	write_all(failed, &error, sizeof(error));
	_exit(127);
}

/* --- the guard -------------------------------------------------------------------------- */

/* What the guard waits for. */
struct watch {
	const struct held *held;
	struct lease_end end;
	pid_t pid;    /* of the program */
	bool ended;   /* the program has */
	int status;   /* its, then */
	int news_fd;  /* to pick; -1: its end was told */
	int children; /* readable when a child has ended */
	bool freed;   /* the lease was */
};

/* Collects the children that have ended. False: none is left, which is what the program started. */
static bool collect(struct watch *w)
{
	pid_t ended;
	int status;

	while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
		if (ended == w->pid) {
			w->ended = true;
			w->status = status;
		}
	return ended == 0;
}

static void look_at_limits(struct watch *w)
{
	struct news news = {.pid = w->pid};

	if (lease_end_look(&w->end, news.text) && w->news_fd >= 0)
		write_all(w->news_fd, &news, sizeof(news));
}

/* Until the container has ended, or the lease. */
static void wait_for_container(struct watch *w)
{
	bool limited = w->end.timer >= 0;

	while ((!limited || w->end.timer >= 0) &&
	       pick_container_wait(w->held->container, w->end.timer))
		look_at_limits(w);
}

static void end_lease(struct watch *w)
{
	lease_end_close(&w->end);
	if (!w->freed)
		gpumap_lease_free(w->held->lease);
	w->freed = true;
}

/* If nothing is left, the lease ends before pick does: the next command of a script may want the
 * GPUs. Returns whether children are left. */
static bool tell_end(struct watch *w)
{
	struct news news = {.pid = w->pid, .status = w->status};
	bool runs = pick_container_runs(w->held->container);

	if (!collect(w) && !runs)
		end_lease(w);
	write_all(w->news_fd, &news, sizeof(news));
	close_variable(&w->news_fd);
	if (runs)
		wait_for_container(w);
	return collect(w);
}

/* What the program started outlives it as a child of the guard, which is a subreaper. */
static void wait_for_all(struct watch *w)
{
	struct pollfd ready[] = {{w->children, POLLIN, 0}, {-1, POLLIN, 0}};
	struct signalfd_siginfo info;

	for (;;) {
		bool left = collect(w);

		if (w->ended && w->news_fd >= 0)
			left = tell_end(w);
		if (!left)
			return;
		ready[1].fd = w->end.timer;
		if (poll(ready, ARRAY_SIZE(ready), -1) <= 0)
			continue;
		if (ready[0].revents && read(w->children, &info, sizeof(info)) < 0 &&
		    errno != EAGAIN)
			return;
		if (w->end.timer >= 0 && ready[1].revents)
			look_at_limits(w);
	}
}

/* Keeps the lease, and nothing else of the caller. */
static void keep_lease(const struct watch *w)
{
	const int keep[] = {w->news_fd, w->children, w->end.timer, w->end.note.fd};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	CLEANUP_FREE int *held = lease_descriptors(w->held->lease);

	if (held && null >= 0)
		drop_inherited(null, keep, ARRAY_SIZE(keep), held);
}

/* SIGCHLD is blocked, as all signals are. */
static int watch_children(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The program's pid, or why there is none. */
static struct news start_program(const struct watch *w, const struct inherited *inherited)
{
	struct news news = {0};
	int failed[2];

	if (w->children < 0 || pipe2(failed, O_CLOEXEC) < 0) {
		news.error = errno;
		return news;
	}
	news.pid = fork();
	if (news.pid == 0)
		become_program(w->held, failed[1], inherited);
	close(failed[1]);
	if (news.pid < 0)
		news.error = errno;
	else if (read(failed[0], &news.error, sizeof(news.error)) != sizeof(news.error))
		news.error = 0;
	close(failed[0]);
	return news;
}

/* All signals are blocked, so those of the terminal do not end it. */
static void guard(const struct held *h, int news_fd, struct inherited *inherited)
	__attribute__((noreturn));
static void guard(const struct held *h, int news_fd, struct inherited *inherited)
{
	struct watch w = {.held = h, .news_fd = news_fd};
	struct news news;
	bool watched;
	int why;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_NAME, "pick-guard");
	/* The user of the lease may revoke it: where Yama is in use, only a parent could. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	/* If it is ignored, there is nothing to wait for. */
	inherited->child = signal(SIGCHLD, SIG_DFL);
	/* Before the program looks. */
	watched = lease_end_begin(&w.end, h->limits, h->lease, h->pick);
	why = errno;
	w.children = watch_children();
	news = start_program(&w, inherited);
	write_all(news_fd, &news, sizeof(news));
	w.pid = news.pid;
	if (w.pid > 0 && !watched) {
		snprintf(news.text, sizeof(news.text),
			 "the lease has no end before that of the program: %s", strerror(why));
		write_all(news_fd, &news, sizeof(news));
	}
	if (w.pid > 0) {
		keep_lease(&w);
		wait_for_all(&w);
	}
	end_lease(&w);
	_exit(0);
}

/* --- pick ------------------------------------------------------------------------------- */

static bool read_news(int fd, struct news *news)
{
	return UNINTERRUPTED(read(fd, news, sizeof(*news))) == (ssize_t)sizeof(*news);
}

static int failed_to_start(const char *name, int error, gpumap_report *report)
{
	report_add(report, FINDING_LAUNCH, ABOUT(.fix = error == ENOENT ? "check its name" : NULL),
		   "cannot execute '%s': %s", QUOTE(span_of(name)), strerror(error));
	return status_of_error(error);
}

static int guard_is_gone(gpumap_report *report)
{
	report_add(
		report, FINDING_LAUNCH, NULL,
		program > 0
			? "the guard of the lease was killed; process %d keeps running, and holds "
			  "the lease"
			: "the guard of the lease was killed before the program started",
		(int)program);
	return STATUS_OWN_FAILURE;
}

/* Signals that came meanwhile are delivered when they are unblocked. */
static void catch_signals(const sigset_t *blocked)
{
	static const int forwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
	struct sigaction act = {.sa_sigaction = forward, .sa_flags = SA_RESTART | SA_SIGINFO};

	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		sigaction(forwarded[i], &act, NULL);
	/* A line for the user that no one reads must not end it before the program. */
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_SETMASK, blocked, NULL);
}

/* Until there is news of the program. */
static bool read_end(int fd, struct news *news)
{
	while (read_news(fd, news)) {
		if (!*news->text)
			return true;
		fprintf(stderr, "gpumap: %s\n", news->text);
	}
	return false;
}

static int follow(int fd, char **argv, const sigset_t *blocked, gpumap_report *report)
{
	struct news news;

	if (!read_news(fd, &news))
		return guard_is_gone(report);
	if (news.error)
		return failed_to_start(*argv, news.error, report);
	program = news.pid;
	catch_signals(blocked);
	if (!read_end(fd, &news))
		return guard_is_gone(report);
	return reap_status(news.status);
}

int pick_run(gpumap_lease *lease, const char *list, char **argv, const struct lease_limits *limits,
	     gpumap_report *report)
{
	struct pick_container container;
	const struct held held = {lease, list, &container, limits, getpid()};
	struct inherited inherited;
	int news[2], status = STATUS_OWN_FAILURE;
	bool opened = pick_container_open(&container, argv, lease);
	sigset_t all;
	pid_t pid;

	sigfillset(&all);
	if (!opened || pipe2(news, O_CLOEXEC) < 0) {
		status = failed_to_start(*argv, opened ? errno : ENOMEM, report);
		gpumap_lease_free(lease);
		pick_container_close(&container);
		return status;
	}
	fflush(NULL);
	sigprocmask(SIG_SETMASK, &all, &inherited.blocked);
	pid = fork();
	if (pid == 0) {
		close(news[0]);
		guard(&held, news[1], &inherited);
	}
	close(news[1]);
	if (pid < 0)
		status = failed_to_start(*argv, errno, report);
	gpumap_lease_free(lease);
	if (pid > 0)
		status = follow(news[0], argv, &inherited.blocked, report);
	close(news[0]);
	pick_container_close(&container);
	return status;
}
