/* SPDX-License-Identifier: MIT */
/* See run_lease_end.h. */
#include "job/run_lease_end.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/output.h"
#include "lease/holders.h"
#include "pick/lease_end.h"
#include "pick/lease_here.h"

/* What the process waits for. */
struct waiting {
	const gpumap_lease *lease;
	const struct run_ranks *ranks;
	const struct lease_limits *limits;
	pid_t launcher;
};

static void print_line(const struct waiting *w, const char *text)
{
	char fresh[FRESH_LINE];

	/* One write, so that it does not mix with the output of the ranks. */
	fprintf(stderr, "%sgpumap: %s\n",
		launch_fresh_line(fresh, &w->ranks->launch, STDERR_FILENO), text);
	fflush(stderr);
}

/* Until the lease ends, or the launcher ends this process. */
static void wait_for_end(const struct waiting *w, struct lease_end *end, int signals)
{
	struct pollfd ready[] = {{signals, POLLIN, 0}, {-1, POLLIN, 0}};
	char text[LEASE_END_TEXT];

	while (end->timer >= 0) {
		ready[1].fd = end->timer;
		if (poll(ready, ARRAY_SIZE(ready), -1) < 0 && errno != EINTR)
			return;
		if (ready[0].revents)
			return;
		if (ready[1].revents && lease_end_look(end, text))
			print_line(w, text);
	}
}

static void watch(const struct waiting *w) __attribute__((noreturn));
static void watch(const struct waiting *w)
{
	struct lease_end end;
	sigset_t term;
	int signals;

	/* It has the descriptors of the lease too, and must not keep it. */
	run_ranks_watch(w->launcher);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	signals = signalfd(-1, &term, SFD_CLOEXEC);
	if (signals >= 0 && lease_end_begin(&end, w->limits, w->lease, w->launcher)) {
		wait_for_end(w, &end, signals);
		lease_end_close(&end);
	}
	_exit(STATUS_ANSWERED);
}

/* The limits of the administrator. False: there are none. */
static bool find_limits(struct lease_limits *limits, gpumap_claim **claim)
{
	if (gpumap_claim_new(claim) != GPUMAP_OK)
		return false;
	limits->claim = *claim;
	return lease_folders_here(*claim, NULL) == GPUMAP_OK &&
	       lease_limits_bound(limits, *claim, NULL) == GPUMAP_OK && limits->for_ms;
}

pid_t run_end_begin(const gpumap_lease *lease, const struct run_ranks *ranks)
{
	struct lease_limits limits = {0};
	struct waiting w = {lease, ranks, &limits, getpid()};
	OWNED(claim) *claim = NULL;
	pid_t pid = 0;

	/* Inside another lease none of them counts. */
	if (lease && !*lease->prefix && find_limits(&limits, &claim)) {
		fflush(NULL);
		pid = fork();
		if (pid == 0)
			watch(&w);
	}
	if (pid < 0)
		fprintf(stderr, "gpumap: the lease has no end before that of the run: %s\n",
			strerror(errno));
	return pid;
}

void run_end_stop(pid_t watcher)
{
	if (watcher <= 0)
		return;
	kill(watcher, SIGTERM);
	UNINTERRUPTED(waitpid(watcher, NULL, 0));
}
