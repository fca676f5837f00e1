/* SPDX-License-Identifier: MIT */
/* See try_in_child.h. */
#include "try_in_child.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "reap.h"

/* A child that cannot be killed must not keep a pipe of the caller open. */
static void leave_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i <= STDERR_FILENO; i++)
		if (null < 0)
			close(i);
		else
			dup2(null, i);
}

bool attempt(void (*try)(void), int patience)
{
	int64_t deadline = clock_milliseconds() + patience;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		leave_streams();
		try();
		_exit(0);
	}
	if (pid < 0 || reap_until(pid, deadline, &status))
		return true;
	kill(pid, SIGKILL);
	reap_until(pid, clock_milliseconds() + 1000, &status);
	return false;
}
