/* SPDX-License-Identifier: MIT */
#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

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

/* What the caller was started to ignore (nohup, background jobs of a script) stays so. */
static void catch_signals(struct setting *setting, const struct launch *launch)
{
	static const int stop[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

	sigemptyset(&setting->caught);
	for (size_t i = 0; i < ARRAY_SIZE(stop); i++)
		if (!is_ignored(stop[i]))
			sigaddset(&setting->caught, stop[i]);
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&launch->forward, sig) == 1 && !is_ignored(sig))
			sigaddset(&setting->caught, sig);
	setting->hup_ignored = is_ignored(SIGHUP);
}

static bool raise_files(struct setting *setting, size_t files)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &setting->files) < 0)
		return false;
	limit = setting->files;
	if (limit.rlim_cur >= files)
		return true;
	if (limit.rlim_max < files) {
		errno = EMFILE;
		return false;
	}
	limit.rlim_cur = files;
	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/* Otherwise a pipe may get the number of a closed standard stream. */
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

bool setting_enter(struct setting *setting, const struct launch *launch, size_t files)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, standard = {.sa_handler = SIG_DFL};

	*setting = (struct setting){.null = -1};
	if (!raise_files(setting, files) || !open_standard_streams())
		return false;
	setting->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (setting->null < 0)
		return false;
	catch_signals(setting, launch);
	sigprocmask(SIG_BLOCK, &setting->caught, &setting->mask);
	/* write(2) reports a closed console and a full log. */
	sigaction(SIGPIPE, &ignore, &setting->pipe);
	sigaction(SIGXFSZ, &ignore, &setting->limit);
	sigaction(SIGCHLD, &standard, &setting->child);
	if (prctl(PR_GET_CHILD_SUBREAPER, &setting->subreaper) < 0)
		setting->subreaper = 0;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return true;
}

void setting_leave(const struct setting *setting)
{
	if (setting->null < 0)
		return;
	close(setting->null);
	prctl(PR_SET_CHILD_SUBREAPER, setting->subreaper);
	sigaction(SIGCHLD, &setting->child, NULL);
	sigaction(SIGXFSZ, &setting->limit, NULL);
	sigaction(SIGPIPE, &setting->pipe, NULL);
	setrlimit(RLIMIT_NOFILE, &setting->files);
	sigprocmask(SIG_SETMASK, &setting->mask, NULL);
}
