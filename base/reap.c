/* SPDX-License-Identifier: MIT */
/* See reap.h. */
#include "reap.h"

#include <errno.h>
#include <sys/wait.h>
#include <time.h>

#include "base.h"

int64_t clock_milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool reap_until(pid_t pid, int64_t deadline, int *status)
{
	for (;;) {
		pid_t ended = waitpid(pid, status, WNOHANG);

		if (ended == pid)
			return true;
		if (ended < 0 && errno != EINTR) {
			*status = -1;
			return true;
		}
		if (clock_milliseconds() >= deadline)
			return false;
		nanosleep(&(const struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

void reap_signals(sigset_t *caught, sigset_t *before)
{
	static const int wanted[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
	struct sigaction now;

	signal(SIGCHLD, SIG_DFL); /* if it is ignored, the ends of children are lost */
	sigemptyset(caught);
	sigaddset(caught, SIGCHLD);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (sigaction(wanted[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(caught, wanted[i]);
	sigprocmask(SIG_BLOCK, caught, before);
}

int reap_status(int how)
{
	return WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
}
