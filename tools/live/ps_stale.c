/* SPDX-License-Identifier: MIT */
/*
 * What --stale shows: processes of ranks and memory that are left of a run that has ended.
 *
 * Whether a process of a rank is stale: it still runs, although its run has ended. The guard of a
 * run ends all processes below it, and a rank ends with its guard. So what remains is a child of a
 * rank, after launcher, guard and keeper were killed together.
 *
 * The end of a run is known if it has the id that gpumap run makes, because that has the pid of the
 * launcher. Another id (of a scheduler, or --rdzv-id) does not show it; then the highest process
 * with this id must have lost its parent.
 */
#include "live/ps.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "container.h"
#include "launch/launch.h"
#include "live/process.h"
#include "memory.h"
#include "plan/job.h"
#include "process_path.h"
#include "process_stat.h"
#include "readfile.h"
#include "text.h"

enum {
	CLOCK_SLACK = 2, /* seconds by which two clocks may differ, after rounding */
	OWN_CHILD = 2    /* seconds after its start in which an init starts its program */
};

/* Its number in its own pid namespace; -1: it is not known. */
static int64_t inner_pid(int pid)
{
	int64_t numbers[MAX_PID_SPACES];
	size_t count = process_numbers(numbers, pid);

	return count ? numbers[count - 1] : -1;
}

/* Whether the process is one that takes orphans, and starts no ranks itself. The first process of a
 * pid namespace takes them, but it can be a launcher as well. /proc does not show which other
 * processes asked for orphans; of these only the manager of a user's services is known. */
static bool is_init(int pid)
{
	static const char *const names[] = {
		"init",      "systemd",   "tini",      "tini-static", "docker-init", "podman-init",
		"catatonit", "dumb-init", "s6-svscan", "openrc-init", "runit",       "pause"};
	char name[64];

	if (read_start(name, sizeof(name), PROCESS_PATH(pid, "comm")) <= 0)
		return false;
	name[strcspn(name, "\n")] = '\0';
	if (streq(name, "systemd"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(name, names[i]))
			return inner_pid(pid) == 1;
	return false;
}

/* Whether the parent of the process has ended. The init of a container starts one program, at
 * once: that is its own child. */
static bool is_orphan(const struct process_stat *stat)
{
	struct process_stat init;
	long ticks = sysconf(_SC_CLK_TCK);

	return stat->parent > 0 && is_init(stat->parent) &&
	       process_stat_read(&init, stat->parent) &&
	       stat->start > init.start + (uint64_t)(ticks * OWN_CHILD);
}

bool ps_is_detached(const struct process_stat *stat)
{
	return !stat->terminal && is_orphan(stat);
}

/* Whether the process is the guard of this launcher; 0: of any. Others may read a command line, but
 * not which program it is. A pick or another run above takes orphans as well. */
static bool is_guard(int pid, int launcher)
{
	char title[64], own[64];

	if (read_start(title, sizeof(title), PROCESS_PATH(pid, "cmdline")) <= 0)
		return false;
	snprintf(own, sizeof(own), GUARD_TITLE " of %d", launcher);
	return launcher ? streq(title, own)
			: streq(title, GUARD_TITLE) || starts_with(title, GUARD_TITLE " of ");
}

/* Seconds since the epoch at which the process started; -1: it has ended. */
static int64_t started(int pid)
{
	struct process_stat stat;
	struct timespec wall, boot;
	long ticks = sysconf(_SC_CLK_TCK);

	if (!process_stat_read(&stat, pid) || stat.dead || ticks <= 0)
		return -1;
	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return wall.tv_sec - boot.tv_sec + (int64_t)stat.start / ticks;
}

/* Takes "YYYYMMDD-HHMMSS-PID" apart. */
static bool read_id(const char *run, int64_t *at, int *pid)
{
	struct tm tm = {0};
	const char *rest = strptime(run, "%Y%m%d-%H%M%S-", &tm);
	int64_t number = rest ? span_number(span_of(rest), INT32_MAX) : -1;

	if (number <= 1 || rest - run != strlen("YYYYMMDD-HHMMSS-") ||
	    run[strspn(run, "0123456789-")])
		return false;
	*at = timegm(&tm);
	*pid = (int)number;
	return true;
}

/* The launcher was there when it made the id; a process that started later only has its pid. */
static bool made_id(int pid, int64_t at)
{
	int64_t start = started(pid);

	return start >= 0 && start <= at + CLOCK_SLACK;
}

/* Whether the launcher, as its namespace numbers it, or its guard is above; 0: it is not known. */
static bool has_run_above(int pid, int launcher, int64_t at)
{
	for (int i = 0; i < MAX_ABOVE && pid > 1; i++) {
		pid = process_parent(pid);
		if (pid > 0 && (is_guard(pid, launcher) ||
				(launcher && inner_pid(pid) == launcher && made_id(pid, at))))
			return true;
	}
	return false;
}

static enum ps_run_state state_by_launcher(int launcher, int64_t at)
{
	struct process_stat stat;

	if (!process_stat_read(&stat, launcher) && process_exists(launcher))
		return PS_RUN_UNKNOWN;
	return made_id(launcher, at) ? PS_RUN_RUNNING : PS_RUN_ENDED;
}

/* The highest process above, or itself, that has this run in its environment. */
static int top_of(int pid, const char *run)
{
	for (int i = 0; i < MAX_ABOVE; i++) {
		CLEANUP(process_text_free) struct process_text text = {0};
		const char *other;
		int parent = process_parent(pid);

		if (parent <= 0 || !process_text_read(&text, parent))
			return pid;
		other = process_variable(&text, RUN_ID);
		if (!other || !streq(other, run))
			return pid;
		pid = parent;
	}
	return pid;
}

/* Ended if the highest process is an orphan; systemd names the processes that it started itself. */
static enum ps_run_state state_by_orphan(int top)
{
	enum ps_run_state state = PS_RUN_UNKNOWN;
	struct process_stat stat;
	CLEANUP(process_text_free) struct process_text text = {0};
	const char *own;

	if (!process_stat_read(&stat, top) || !is_orphan(&stat) || !process_text_read(&text, top))
		return state;
	own = process_variable(&text, "SYSTEMD_EXEC_PID");
	if (!own || span_number(span_of(own), INT32_MAX) != inner_pid(top))
		state = PS_RUN_ENDED;
	return state;
}

enum ps_run_state ps_run_state(int pid, const struct process_text *text)
{
	const char *run = process_variable(text, RUN_ID);
	int launcher = 0, top;
	int64_t at = 0;
	bool own_id;

	if (!run || !process_variable(text, RUN_RANK))
		return PS_RUN_NONE;
	own_id = read_id(run, &at, &launcher);
	if (has_run_above(pid, launcher, at))
		return PS_RUN_RUNNING;
	top = top_of(pid, run);
	if (!own_id)
		return state_by_orphan(top);
	/* Its parent is outside of the namespace, and so may be the launcher. */
	if (process_parent(top) == 0 || !process_same_namespace(pid))
		return PS_RUN_UNKNOWN;
	return state_by_launcher(launcher, at);
}

bool ps_is_left(const struct ps_gpu *gpu)
{
	return gpu->hidden && !gpu->count &&
	       gpumap_device_int(gpu->device, GPUMAP_DEVICE_PROCESSES_COMPLETE) == 1 &&
	       !container_hides_processes();
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static bool uses_any(const struct ps *ps, size_t facts)
{
	for (size_t i = 0; i < ps->count; i++)
		for (size_t k = 0; k < ps->gpus[i].count; k++)
			if (ps->gpus[i].processes[k].facts == facts)
				return true;
	return false;
}

int64_t *ps_own_stale(const struct ps *ps, size_t *count)
{
	int64_t *pids = xcalloc(ps->fact_count, sizeof(*pids));

	*count = 0;
	for (size_t i = 0; i < ps->fact_count; i++)
		if (ps->facts[i].own && ps->facts[i].state == PS_RUN_ENDED && uses_any(ps, i))
			pids[(*count)++] = ps->facts[i].pid;
	if (*count)
		qsort(pids, *count, sizeof(*pids), compare);
	return pids;
}
