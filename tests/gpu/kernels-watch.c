/* SPDX-License-Identifier: MIT */
#include "kernels-watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	START_SECONDS = 100
}; /* more for the first call of a driver, which may have to start the GPU */

static volatile sig_atomic_t signalled;

static void note_signal(int signal)
{
	signalled = signal;
}

void watch_begins(struct watch *watch, int job)
{
	__atomic_store_n(&watch->shared->job, job, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&watch->shared->begun, 1, __ATOMIC_SEQ_CST);
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Waits for the process, and ends it if a trial takes too long or this process is to end. Returns
 * its status; *late is why it was ended, or NULL. */
static int wait_for(struct watch *watch, pid_t pid, char *late, size_t size)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	int begun = 0, status = 0;
	double since = seconds_now();

	while (waitpid(pid, &status, WNOHANG) == 0) {
		int now = __atomic_load_n(&watch->shared->begun, __ATOMIC_SEQ_CST);
		int most = watch->seconds + (now ? 0 : START_SECONDS);

		if (now != begun)
			since = seconds_now();
		begun = now;
		if (!*late && signalled)
			snprintf(late, size, "signal %d came", (int)signalled);
		else if (!*late && seconds_now() - since > most)
			snprintf(late, size, "not at its end after %d s", most);
		if (*late)
			kill(pid, SIGKILL);
		nanosleep(&pause, NULL);
	}
	return status;
}

static void skip_kernel(struct watch *watch, const struct kernel_test *test)
{
	for (int i = 0; i < watch->count; i++)
		if (watch->jobs[i].test == test)
			watch->jobs[i].skipped = true;
}

/* A process for the jobs from this one on. Returns the status of the program, or -1: there is more
 * to try. */
static int watch_process(struct watch *watch, int *from)
{
	struct watched *shared = watch->shared;
	char why[WHY_BYTES] = "";
	pid_t pid, parent = getpid();
	int status;

	*shared = (struct watched){.job = -1, .done = shared->done, .failed = shared->failed};
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGTERM, SIG_DFL);
		exit(getppid() == parent ? watch->run(watch, *from) : 99);
	}
	status = pid < 0 ? 99 << 8 : wait_for(watch, pid, why, sizeof(why));
	if (!*why && shared->ended && WIFEXITED(status))
		return WEXITSTATUS(status);
	if (!*why && *shared->why)
		memcpy(why, shared->why, sizeof(why));
	if (!*why && WIFSIGNALED(status))
		snprintf(why, sizeof(why), "the process was ended by signal %d (%s)",
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (!*why)
		snprintf(why, sizeof(why), "the process ended with status %d", WEXITSTATUS(status));
	if (shared->job < 0 || shared->ended) {
		printf("Bail out! %s: %s\n", shared->ended ? "the end" : "the start", why);
		return 99;
	}
	shared->done++;
	shared->failed++;
	watch->died(watch, &watch->jobs[shared->job], why);
	skip_kernel(watch, watch->jobs[shared->job].test);
	*from = shared->job + 1;
	return signalled ? 128 + signalled : -1;
}

int watch_jobs(struct watch *watch)
{
	int from = 0, status;

	watch->shared = mmap(NULL, sizeof(*watch->shared), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (watch->shared == MAP_FAILED) {
		printf("Bail out! mmap: %s\n", strerror(errno));
		return 99;
	}
	signal(SIGTERM, note_signal);
	why_ended = watch->shared->why;
	while ((status = watch_process(watch, &from)) < 0)
		;
	fflush(stdout);
	return status;
}
