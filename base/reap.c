/* SPDX-License-Identifier: MIT */
#include "reap.h"

#include <errno.h>
#include <sys/wait.h>
#include <time.h>

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
