/* SPDX-License-Identifier: MIT */
/* Finds the active runs, by the files that their launchers keep open. */
#include "live/published_run.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/process.h"
#include "live/ps.h"
#include "closing.h"
#include "container.h"
#include "memory.h"
#include "process_path.h"
#include "process_stat.h"
#include "readfile.h"
#include "report/report.h"
#include "text.h"

enum { MAX_NAMED = 16 };

#define LINK "/memfd:" RUN_LIVE_NAME

/* Opens the file of the run that the process has open; -1: it has none, or may not be looked at. */
static int open_live(int pid)
{
	CLEANUP_FOLDER DIR *dir = opendir(PROCESS_PATH(pid, "fd"));
	struct dirent *entry;
	int fd = -1;

	while (dir && fd < 0 && (entry = readdir(dir))) {
		char target[64];

		if (read_link(target, sizeof(target), PROCESS_PATH(pid, "fd/%s", entry->d_name)) &&
		    streq(target, LINK " (deleted)"))
			fd = openat(dirfd(dir), entry->d_name,
				    O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	}
	return fd;
}

/* --- another pid namespace ------------------------------------------------------------- */

/* Whether the process is this rank, which was not found yet. */
static bool is_rank(const struct live_rank *rank, int64_t number, int pid, int launcher)
{
	return rank->hidden && rank->pid == number && process_is_below(pid, launcher);
}

/* Gives each rank that has the number in its namespace, the `depth`-th from here, its process. */
static void find_inside(struct live_run *run, size_t depth)
{
	int64_t numbers[MAX_PID_SPACES];
	CLEANUP_FOLDER DIR *proc = opendir("/proc");
	pid_t pid;

	while ((pid = process_next(proc))) {
		if (process_numbers(numbers, pid) < depth)
			continue;
		for (size_t i = 0; i < run->count; i++)
			if (is_rank(&run->ranks[i], numbers[depth - 1], pid, run->launcher)) {
				run->ranks[i].pid = pid;
				run->ranks[i].hidden = false;
			}
	}
}

/* Replaces the numbers that the launcher has for its ranks by those that they have here. A process
 * that is found is the rank, since it is below the launcher; so its start needs no comparison, for
 * which the clocks of a time namespace would be other ones. */
static void translate(struct live_run *run)
{
	int64_t numbers[MAX_PID_SPACES];
	size_t depth = process_numbers(numbers, run->launcher);

	for (size_t i = 0; i < run->count; i++)
		run->ranks[i].hidden = run->ranks[i].state == LIVE_RUNNING;
	if (depth)
		find_inside(run, depth);
	for (size_t i = 0; i < run->count; i++) {
		struct live_rank *rank = &run->ranks[i];

		if (rank->hidden || rank->state != LIVE_RUNNING)
			rank->pid = 0;
		rank->at_ns = INT64_MAX;
	}
}

/* --- one run ---------------------------------------------------------------------------- */

/* What the process shows. ret->text NULL: nothing. */
static void read_live(struct live_run *ret, int pid)
{
	struct stat st;
	CLEANUP_CLOSE int fd = process_is_gpumap(pid) ? open_live(pid) : -1;

	*ret = (struct live_run){0};
	if (fd < 0 || live_run_read(ret, fd) != GPUMAP_OK)
		return;
	ret->launcher = pid;
	ret->own = stat(PROCESS_FOLDER(pid), &st) == 0 && st.st_uid == geteuid();
	if (!process_same_namespace(pid))
		translate(ret);
	ret->inside = ps_is_inside(pid);
}

/* Guard and watcher of a run have its file open as well; the launcher is their parent. What was
 * read by the launcher takes the place of what was read by one of them. */
static bool is_known(struct live_runs *list, struct live_run *run)
{
	for (size_t i = 0; i < list->count; i++) {
		struct live_run known = list->runs[i];

		if (known.file != run->file)
			continue;
		if (process_parent(known.launcher) == run->launcher) {
			list->runs[i] = *run;
			*run = known;
		}
		return true;
	}
	return false;
}

static void add_run(struct live_runs *list, int pid)
{
	struct live_run *run;

	list->runs = array_room(list->runs, list->count, &list->room, sizeof(*run));
	run = &list->runs[list->count];
	read_live(run, pid);
	if (run->text && !is_known(list, run))
		list->count++;
	else
		live_run_free(run);
}

static int by_launcher(const void *a, const void *b)
{
	const struct live_run *x = a, *y = b;

	return (x->launcher > y->launcher) - (x->launcher < y->launcher);
}

void live_runs_find(struct live_runs *ret)
{
	CLEANUP_FOLDER DIR *proc = opendir("/proc");
	pid_t pid;

	*ret = (struct live_runs){0};
	while ((pid = process_next(proc)))
		add_run(ret, pid);
	if (ret->count)
		qsort(ret->runs, ret->count, sizeof(*ret->runs), by_launcher);
}

void live_run_of(struct live_run *ret, int pid)
{
	*ret = (struct live_run){0};
	for (int i = 0; i < MAX_ABOVE && pid > 0 && !ret->text; i++) {
		read_live(ret, pid);
		pid = process_parent(pid);
	}
	/* The guard is below the launcher. */
	if (ret->text && pid > 0) {
		struct live_run above = {0};

		read_live(&above, pid);
		if (above.text && above.file == ret->file)
			ret->launcher = above.launcher;
		live_run_free(&above);
	}
}

void live_runs_free(struct live_runs *runs)
{
	for (size_t i = 0; i < runs->count; i++)
		live_run_free(&runs->runs[i]);
	free(runs->runs);
	*runs = (struct live_runs){0};
}

/* --- one of them ---------------------------------------------------------------------------- */

int live_run_not_found(const char *name, gpumap_report *report)
{
	const char *fix = container_hides_processes()
				  ? "run gpumap verify outside of this pid namespace, where a run "
				    "may be that is not visible here; --pid N checks a process"
				  : "gpumap ps shows the processes on GPUs and their runs; --pid N "
				    "checks a process";

	if (!name)
		return report_fail(report, GPUMAP_ENODRIVER, FINDING_RUN_NOT_FOUND,
				   ABOUT(.fix = fix),
				   "no run of gpumap by this user is active on this host");
	return report_fail(report, GPUMAP_ENODRIVER, FINDING_RUN_NOT_FOUND, ABOUT(.fix = fix),
			   "no active run '%s' on this host", QUOTE(span_of(name)));
}

static int not_named(const struct live_runs *all, size_t count, const bool *chosen,
		     gpumap_report *report)
{
	CLEANUP(strbuf_free) struct strbuf list = {0};
	size_t named = 0;

	for (size_t i = 0; i < all->count && named < MAX_NAMED; i++) {
		if (!chosen[i])
			continue;
		strbuf_printf(&list, "%s%s (process %d)", named++ ? ", " : "",
			      QUOTE(span_of(all->runs[i].run)), all->runs[i].launcher);
	}
	if (count > named)
		strbuf_printf(&list, " and %zu more", count - named);
	return report_fail(report, GPUMAP_ENODRIVER, FINDING_RUN_NOT_NAMED,
			   ABOUT(.fix = "name one, or its process with --pid"),
			   "%zu runs are active on this host: %s", count, list.text);
}

int live_runs_take(struct live_run *ret, struct live_runs *all, const char *name,
		   gpumap_report *report)
{
	CLEANUP_FREE bool *chosen = xcalloc(all->count, sizeof(*chosen));
	size_t count = 0, last = 0;
	int r = GPUMAP_OK;

	for (size_t i = 0; i < all->count; i++) {
		chosen[i] = name ? streq(all->runs[i].run, name) : all->runs[i].own;
		count += chosen[i];
		last = chosen[i] ? i : last;
	}
	if (count == 0)
		r = live_run_not_found(name, report);
	else if (count > 1)
		r = not_named(all, count, chosen, report);
	else {
		*ret = all->runs[last];
		all->runs[last] = (struct live_run){0};
	}
	return r;
}
