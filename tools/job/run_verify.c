/* SPDX-License-Identifier: MIT */
/* See run_verify.h. */
#include "job/run_verify.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/out_of_memory.h"
#include "cli/output.h"
#include "closing.h"
#include "live/verify.h"
#include "readfile.h"
#include "report/report.h"
#include "write_all.h"

enum {
	FIRST_MS = 500,
	LAST_MS = FIRST_MS << 12, /* so 13 looks, the last 4095 s after the start */
	END_MS = 2000,            /* a watcher that hangs in the driver is left alone */
	STEP_MS = 10,
	MAX_FOUND = 256 << 20
};

static void wait_ms(int64_t ms)
{
	struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&pause, &pause) < 0 && errno == EINTR)
		;
}

static void not_verified(const char *why, gpumap_report *report)
{
	report_add(report, FINDING_NOT_VERIFIED,
		   ABOUT(.origin = "--verify",
			 .fix = "gpumap verify compares a run at any time while it is active"),
		   "the ranks were not compared with their plan: %s", why);
}

/* --- the watcher ---------------------------------------------------------------------- */

/* Whether a rank may still change what there is to report. */
static bool is_early(const struct verify *v)
{
	bool alive = false;

	for (size_t i = 0; i < v->count; i++) {
		if (v->ranks[i].state == VERIFY_UNUSED || v->ranks[i].process == VERIFY_GONE)
			return true;
		alive = alive || v->ranks[i].process == VERIFY_ALIVE;
	}
	/* The run is about to end. */
	return !alive;
}

static void print(const struct run_ranks *ranks, gpumap_report *report)
{
	char fresh[FRESH_LINE];

	if (!gpumap_report_count(report))
		return;
	fputs(launch_fresh_line(fresh, &ranks->launch, STDERR_FILENO), stderr);
	print_report(&(struct output){.report = report}, 0);
	fflush(stderr);
}

/* For the record of the run. Without memory the record does not have it. */
static void keep(int file, const struct verify *v, const gpumap_report *found)
{
	CLEANUP(strbuf_free) struct strbuf buf = {0};

	verify_json(&buf, v, found);
	if (!buf.failed && ftruncate(file, 0) == 0)
		write_all(file, buf.text, buf.length);
}

/* What the watcher looks at, and what for. */
struct watched {
	const struct run_ranks *ranks;
	pid_t launcher;
	int found;
};

/* Waits. The launcher's SIGTERM counts only here, so that what was compared is kept and printed. */
static bool is_told_to_end(const struct watched *w, int64_t ms)
{
	struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
	siginfo_t from = {.si_pid = 0};
	sigset_t end;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	while (sigtimedwait(&end, &from, &pause) == SIGTERM || errno == EINTR)
		if (from.si_pid == w->launcher)
			return true;
	return false;
}

/* Looks at the ranks once. True: that was all. */
static bool look(const struct watched *w, bool last, gpumap_report *report)
{
	OWNED(report) *facts = report_begin();
	struct live_run run = {0};
	struct verify v = {0};
	int r = live_run_read(&run, w->ranks->live.fd);
	bool done = false;

	run.launcher = w->launcher;
	if (r == GPUMAP_OK)
		r = verify_run(&v, &run, false, facts);
	if (r == GPUMAP_OK) {
		verify_compare(&v, facts);
		done = v.no_usage || last || !is_early(&v);
		if (done)
			keep(w->found, &v, facts);
		if (v.no_usage)
			not_verified("NVML does not answer here", report);
		else if (done)
			report_copy_all(report, facts, FINDING_USAGE_REFUSED);
		if (last && verify_count(&v, VERIFY_UNUSED))
			not_verified("some have used no GPU in an hour", report);
	}
	verify_free(&v);
	live_run_free(&run);
	return done;
}

static void watch(const struct watched *w) __attribute__((noreturn));
static void watch(const struct watched *w)
{
	gpumap_report *report;

	run_ranks_watch(w->launcher);
	/* What of tools/live/ compares checks no allocation; the launcher reports this end. */
	out_of_memory_ends(STATUS_OWN_FAILURE);
	report = report_begin();
	for (int64_t ms = FIRST_MS; ms <= LAST_MS; ms *= 2) {
		if (is_told_to_end(w, ms))
			_exit(STATUS_NO);
		if (look(w, ms == LAST_MS, report))
			break;
	}
	print(w->ranks, report);
	_exit(STATUS_ANSWERED);
}

/* --- the launcher --------------------------------------------------------------------- */

void run_verify_begin(struct run_watcher *ret, const struct run_ranks *ranks, gpumap_report *report)
{
	struct watched w = {ranks, getpid(), -1};

	*ret = (struct run_watcher){.found = -1};
	w.found = ranks->live.fd < 0 ? -1 : run_memory_file("gpumap-verify");
	if (w.found < 0) {
		not_verified("the system gives no file in memory", report);
		return;
	}
	ret->found = w.found;
	ret->pid = fork();
	if (ret->pid == 0)
		watch(&w);
	if (ret->pid < 0) {
		not_verified(strerror(errno), report);
		ret->pid = 0;
	}
}

/* Waits until the watcher is gone. */
static void end_watcher(pid_t pid, gpumap_report *report)
{
	int status = 0;

	kill(pid, SIGTERM);
	for (int ms = 0; waitpid(pid, &status, WNOHANG) == 0; ms += STEP_MS) {
		if (ms >= END_MS) {
			kill(pid, SIGKILL);
			not_verified("NVML hangs", report);
			return;
		}
		wait_ms(STEP_MS);
	}
	if (WIFSIGNALED(status))
		not_verified("the process that compares them was killed", report);
	else if (WEXITSTATUS(status) == STATUS_NO)
		not_verified("the run ended before all ranks had used their GPUs", report);
	else if (WEXITSTATUS(status) != STATUS_ANSWERED)
		not_verified("memory ran out", report);
}

char *run_verify_end(struct run_watcher *watcher, gpumap_report *report)
{
	char *found = NULL;
	size_t size;

	if (watcher->pid)
		end_watcher(watcher->pid, report);
	if (watcher->found < 0)
		return NULL;
	if (lseek(watcher->found, 0, SEEK_SET) < 0 ||
	    read_all(watcher->found, MAX_FOUND, &found, &size) != 0)
		found = NULL;
	close_variable(&watcher->found);
	return found;
}
