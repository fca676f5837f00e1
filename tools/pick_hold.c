/* SPDX-License-Identifier: MIT */
#include "pick_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "launch/exit_status.h"
#include "report.h"

/* What the guard tells pick: first the program's pid or why there is none, then its end. */
struct news {
	pid_t pid;
	int error;  /* of exec */
	int status; /* as waitpid(2) gives it */
};

static volatile sig_atomic_t program;

static void forward(int sig)
{
	if (program > 0)
		kill(program, sig);
}

/* --- the program ------------------------------------------------------------------------ */

static void become_program(const gpumap_lease *lease, const char *list, char **argv, int failed)
	__attribute__((noreturn));
static void become_program(const gpumap_lease *lease, const char *list, char **argv, int failed)
{
	int fd, error;

	for (size_t i = 0; (fd = gpumap_lease_descriptor(lease, i)) >= 0; i++)
		fcntl(fd, F_SETFD, 0);
	if (setenv("CUDA_VISIBLE_DEVICES", list, 1) == 0 &&
	    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1) == 0)
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

/* What the program started outlives it as a child of the guard, which is a subreaper. */
static void wait_for_all(pid_t pid, int news_fd)
{
	struct news news = {.pid = pid};
	pid_t ended;
	int status;

	while ((ended = waitpid(-1, &status, 0)) > 0 || errno == EINTR) {
		if (ended != pid)
			continue;
		news.status = status;
		send_news(news_fd, &news);
		close(news_fd);
	}
}

/* The terminal's signals are for the program. */
static void ignore_signals(void)
{
	static const int all[] = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
				  SIGUSR1, SIGUSR2, SIGPIPE, SIGTSTP};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		signal(all[i], SIG_IGN);
}

static void guard(const gpumap_lease *lease, const char *list, char **argv, int news_fd)
	__attribute__((noreturn));
static void guard(const gpumap_lease *lease, const char *list, char **argv, int news_fd)
{
	struct news news = {0};
	int failed[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (pipe2(failed, O_CLOEXEC) < 0) {
		news.error = errno;
		send_news(news_fd, &news);
		_exit(1);
	}
	news.pid = fork();
	if (news.pid == 0)
		become_program(lease, list, argv, failed[1]);
	close(failed[1]);
	ignore_signals();
	if (news.pid < 0)
		news.error = errno;
	else if (read(failed[0], &news.error, sizeof(news.error)) != sizeof(news.error))
		news.error = 0;
	close(failed[0]);
	send_news(news_fd, &news);
	/* A pipe of the caller must not stay open because of what the program left. */
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (news.pid > 0)
		wait_for_all(news.pid, news_fd);
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

static int follow(int fd, char **argv, gpumap_report *report)
{
	struct sigaction act = {.sa_handler = forward, .sa_flags = SA_RESTART};
	struct news news;

	if (!read_news(fd, &news) || news.pid < 0)
		return failed_to_start(*argv, EAGAIN, report);
	if (news.error)
		return failed_to_start(*argv, news.error, report);
	program = news.pid;
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGUSR2, &act, NULL);
	/* The terminal sends these to the program too. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	if (!read_news(fd, &news)) {
		report_add(report, FINDING_LAUNCH, NULL,
			   "the guard of the lease was killed; process %d goes on, and holds the "
			   "lease",
			   (int)program);
		return STATUS_OWN_FAILURE;
	}
	return WIFSIGNALED(news.status) ? 128 + WTERMSIG(news.status) : WEXITSTATUS(news.status);
}

int pick_hold(gpumap_lease *lease, const char *list, char **argv, gpumap_report *report)
{
	int news[2], status;
	pid_t pid;

	if (pipe2(news, O_CLOEXEC) < 0)
		return failed_to_start(*argv, errno, report);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(news[0]);
		guard(lease, list, argv, news[1]);
	}
	close(news[1]);
	gpumap_lease_free(lease);
	status = pid < 0 ? failed_to_start(*argv, errno, report) : follow(news[0], argv, report);
	close(news[0]);
	return status;
}
