/* SPDX-License-Identifier: MIT */
#include "pick_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "command.h"
#include "launch/drop_inherited.h"
#include "launch/exit_status.h"
#include "lease_here.h"
#include "pick_container.h"
#include "report.h"

/* What the guard tells pick: first the program's pid or why there is none, then its end. */
struct news {
	pid_t pid;
	int error;  /* of exec */
	int status; /* as waitpid(2) gives it */
};

static volatile sig_atomic_t program;

/* What the terminal sends, the program gets itself. */
static void forward(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (program > 0 && info->si_code != SI_KERNEL)
		kill(program, sig);
}

/* --- the program ------------------------------------------------------------------------ */

/* What the program inherits from the caller of pick. */
struct inherited {
	sigset_t blocked;
	void (*child)(int); /* what SIGCHLD does */
};

static void become_program(const gpumap_lease *lease, const char *list, char **argv, int failed,
			   const struct inherited *inherited) __attribute__((noreturn));
static void become_program(const gpumap_lease *lease, const char *list, char **argv, int failed,
			   const struct inherited *inherited)
{
	char keeper[16];
	int fd, error;

	snprintf(keeper, sizeof(keeper), "%d", (int)getppid());
	for (size_t i = 0; (fd = gpumap_lease_descriptor(lease, i)) >= 0; i++)
		fcntl(fd, F_SETFD, 0);
	signal(SIGCHLD, inherited->child);
	sigprocmask(SIG_SETMASK, &inherited->blocked, NULL);
	if (setenv("CUDA_VISIBLE_DEVICES", list, 1) == 0 &&
	    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1) == 0 &&
	    setenv("GPUMAP_LEASE", keeper, 1) == 0)
		execvp(*argv, argv);
	error = errno;
	while (write(failed, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* --- the guard -------------------------------------------------------------------------- */

static void send_news(int fd, const struct news *news)
{
	while (write(fd, news, sizeof(*news)) < 0 && errno == EINTR)
		;
}

/* Reaps what has ended. Whether a child is left, which is what the program started. */
static bool is_family_left(void)
{
	pid_t ended;

	do {
		ended = waitpid(-1, NULL, WNOHANG);
	} while (ended > 0 || (ended < 0 && errno == EINTR));
	return ended == 0;
}

/* What the program started outlives it as a child of the guard, which is a subreaper. If nothing is
 * left, the lease ends before pick does: the next command of a script may want the GPUs. */
static void wait_for_all(gpumap_lease *lease, const struct pick_container *container, pid_t pid,
			 int news_fd)
{
	struct news news = {.pid = pid};
	pid_t ended;
	int status;
	bool runs;

	while ((ended = waitpid(-1, &status, 0)) > 0 || errno == EINTR) {
		if (ended != pid)
			continue;
		news.status = status;
		runs = pick_container_runs(container);
		if (!is_family_left() && !runs)
			gpumap_lease_free(lease);
		send_news(news_fd, &news);
		close(news_fd);
		if (runs)
			pick_container_wait(container);
	}
}

/* Keeps the lease, and nothing else of the caller. */
static void keep_lease(const gpumap_lease *lease, int news_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int *held = lease_descriptors(lease);

	if (held && null >= 0)
		drop_inherited(null, &news_fd, 1, held);
	free(held);
}

/* All signals are blocked, so those of the terminal do not end it. */
static void guard(gpumap_lease *lease, const char *list, const struct pick_container *container,
		  int news_fd, struct inherited *inherited) __attribute__((noreturn));
static void guard(gpumap_lease *lease, const char *list, const struct pick_container *container,
		  int news_fd, struct inherited *inherited)
{
	struct news news = {0};
	int failed[2];

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_NAME, "pick-guard");
	/* If it is ignored, there is nothing to wait for. */
	inherited->child = signal(SIGCHLD, SIG_DFL);
	if (pipe2(failed, O_CLOEXEC) < 0) {
		news.error = errno;
		send_news(news_fd, &news);
		_exit(1);
	}
	news.pid = fork();
	if (news.pid == 0)
		become_program(lease, list, container->argv, failed[1], inherited);
	close(failed[1]);
	if (news.pid < 0)
		news.error = errno;
	else if (read(failed[0], &news.error, sizeof(news.error)) != sizeof(news.error))
		news.error = 0;
	send_news(news_fd, &news);
	keep_lease(lease, news_fd);
	if (news.pid > 0)
		wait_for_all(lease, container, news.pid, news_fd);
	_exit(0);
}

/* --- pick ------------------------------------------------------------------------------- */

static bool read_news(int fd, struct news *news)
{
	ssize_t n;

	do {
		n = read(fd, news, sizeof(*news));
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*news);
}

static int failed_to_start(const char *name, int error, gpumap_report *report)
{
	report_add(report, FINDING_LAUNCH, ABOUT(.fix = error == ENOENT ? "check its name" : NULL),
		   "cannot execute '%s': %s", QUOTE(span_of(name)), strerror(error));
	return status_of_error(error);
}

static int guard_is_gone(gpumap_report *report)
{
	report_add(report, FINDING_LAUNCH, NULL,
		   program > 0 ? "the guard of the lease was killed; process %d goes on, and holds "
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
	sigprocmask(SIG_SETMASK, blocked, NULL);
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
	if (!read_news(fd, &news))
		return guard_is_gone(report);
	return WIFSIGNALED(news.status) ? 128 + WTERMSIG(news.status) : WEXITSTATUS(news.status);
}

int pick_hold(gpumap_lease *lease, const char *list, char **argv, gpumap_report *report)
{
	struct pick_container container;
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
		guard(lease, list, &container, news[1], &inherited);
	}
	close(news[1]);
	if (pid < 0)
		status = failed_to_start(*argv, errno, report);
	gpumap_lease_free(lease); /* the guard holds it */
	if (pid > 0)
		status = follow(news[0], argv, &inherited.blocked, report);
	close(news[0]);
	pick_container_close(&container);
	return status;
}
