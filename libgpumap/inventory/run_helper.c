/* SPDX-License-Identifier: MIT */
/* Runs the helper that asks the driver. A driver may hang, crash or print. */
#include "inventory/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"
#include "reap.h"

extern char **environ; /* passed on unchanged */

struct run {
	const char *path;
	gpumap_report *report;
	pid_t pid;
	int output;
	int64_t deadline; /* milliseconds of the monotonic clock */
};

static int fail(const struct run *run, const char *what, const char *detail, const char *fix)
{
	return report_fail(run->report, GPUMAP_ENODRIVER, FINDING_NO_DRIVER,
			   ABOUT(.origin = run->path, .fix = fix),
			   "cannot ask the driver: the helper %s%s", what, detail);
}

/* Standard output is connected first, because the pipe's end may be descriptor 0. */
static int prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attr, int output)
{
	sigset_t none, all;
	int error = posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);

	if (!error)
		error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null",
							 O_RDONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null",
							 O_WRONLY, 0);
	sigemptyset(&none);
	sigfillset(&all);
	if (!error)
		error = posix_spawnattr_setsigmask(attr, &none);
	if (!error)
		error = posix_spawnattr_setsigdefault(attr, &all);
	if (!error)
		error = posix_spawnattr_setflags(attr,
						 POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	return error;
}

static int spawn(struct run *run, const char *argument, int output)
{
	CLEANUP_FREE char *path = xstrdup(run->path), *arg = xstrdup(argument);
	char *argv[] = {path, arg, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int error;

	if (!path || !arg)
		return ENOMEM;
	error = posix_spawn_file_actions_init(&actions);
	if (error)
		return error;
	error = posix_spawnattr_init(&attr);
	if (!error) {
		error = prepare(&actions, &attr, output);
		if (!error)
			error = posix_spawn(&run->pid, path, &actions, &attr, argv, environ);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static int start(struct run *run, const char *argument)
{
	int ends[2], error;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail(run, "cannot be started: ", strerror(errno), NULL);
	error = spawn(run, argument, ends[1]);
	close(ends[1]);
	run->output = ends[0];
	if (!error)
		return GPUMAP_OK;
	close(ends[0]);
	if (error == ENOMEM)
		return report_nomem(run->report);
	return fail(run, "cannot be started: ", strerror(error),
		    error == ENOENT ? "install gpumap-ask-driver with the library, or name it"
				    : NULL);
}

/* Collects the output up to its end. */
static int collect(struct run *run, struct ran *ret)
{
	ret->length = 0;
	for (;;) {
		int64_t left = run->deadline - clock_milliseconds();
		struct pollfd wait = {.fd = run->output, .events = POLLIN};
		ssize_t n;

		if (left <= 0)
			return fail(run, "does not answer in time", "",
				    "see whether nvidia-smi hangs too");
		if (poll(&wait, 1, (int)left) <= 0)
			continue;
		n = read(run->output, ret->text + ret->length, sizeof(ret->text) - ret->length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(run, "cannot be read: ", strerror(errno), NULL);
		ret->length += (size_t)n;
		if (ret->length > DRIVER_MAX_OUTPUT)
			return fail(run, "prints too much", "", "name gpumap's own helper");
		ret->text[ret->length] = '\0';
		if (n == 0)
			return GPUMAP_OK;
	}
}

static int end(struct run *run, int code)
{
	int status;
	char signal[32];

	close(run->output);
	if (code == GPUMAP_OK && !reap_until(run->pid, run->deadline, &status))
		code = fail(run, "does not end", "", NULL);
	if (code != GPUMAP_OK) {
		kill(run->pid, SIGKILL);
		reap_until(run->pid, clock_milliseconds() + 1000, &status);
		return code;
	}
	if (status == -1 || !WIFSIGNALED(status))
		return GPUMAP_OK;
	snprintf(signal, sizeof(signal), "%d", WTERMSIG(status));
	return fail(run, "was ended by signal ", signal, "see whether CUDA programs crash too");
}

int run_helper(struct ran *ret, const char *path, const char *argument, int patience,
	       gpumap_report *report)
{
	struct run run = {
		.path = path, .report = report, .deadline = clock_milliseconds() + patience};
	int r = start(&run, argument);

	if (r != GPUMAP_OK)
		return r;
	return end(&run, collect(&run, ret));
}
