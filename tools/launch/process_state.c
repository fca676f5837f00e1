/* SPDX-License-Identifier: MIT */
/* See process_state.h. */
#include "process_state.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base.h"

int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static bool is_ignored(int sig)
{
	struct sigaction action;

	return sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* Signals that the caller was started to ignore (nohup, background jobs of a script) stay ignored.
 */
static void catch_signals(struct process_state *state, const struct launch *launch)
{
	static const int stop[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

	sigemptyset(&state->caught);
	for (size_t i = 0; i < ARRAY_SIZE(stop); i++)
		if (!is_ignored(stop[i]))
			sigaddset(&state->caught, stop[i]);
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&launch->forward, sig) == 1 && !is_ignored(sig))
			sigaddset(&state->caught, sig);
	state->hup_ignored = is_ignored(SIGHUP);
}

static bool raise_files(struct process_state *state, size_t files)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &state->files) < 0)
		return false;
	limit = state->files;
	if (limit.rlim_cur >= files)
		return true;
	if (limit.rlim_max < files) {
		errno = EMFILE;
		return false;
	}
	limit.rlim_cur = files;
	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/* Opens closed standard streams; otherwise a pipe could get the number of one. */
static bool open_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool process_state_enter(struct process_state *state, const struct launch *launch, size_t files)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, standard = {.sa_handler = SIG_DFL};

	*state = (struct process_state){.null = -1};
	if (!raise_files(state, files) || !open_standard_streams())
		return false;
	state->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (state->null < 0)
		return false;
	catch_signals(state, launch);
	sigprocmask(SIG_BLOCK, &state->caught, &state->mask);
	/* write(2) reports a closed console and a full log. */
	sigaction(SIGPIPE, &ignore, &state->pipe);
	sigaction(SIGXFSZ, &ignore, &state->limit);
	sigaction(SIGCHLD, &standard, &state->child);
	if (prctl(PR_GET_CHILD_SUBREAPER, &state->subreaper) < 0)
		state->subreaper = 0;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return true;
}

void process_state_leave(const struct process_state *state)
{
	if (state->null < 0)
		return;
	close(state->null);
	prctl(PR_SET_CHILD_SUBREAPER, state->subreaper);
	sigaction(SIGCHLD, &state->child, NULL);
	sigaction(SIGXFSZ, &state->limit, NULL);
	sigaction(SIGPIPE, &state->pipe, NULL);
	setrlimit(RLIMIT_NOFILE, &state->files);
	sigprocmask(SIG_SETMASK, &state->mask, NULL);
}
