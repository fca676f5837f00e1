/* SPDX-License-Identifier: MIT */
/* See rank_cgroup.h. */
#include "rank_cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "closing.h"
#include "readfile.h"
#include "guard_command_line.h"
#include "leave_caller.h"
#include "process_state.h"

#ifndef SYS_clone3 /* in headers older than the kernel; all machines have this number */
#define SYS_clone3 435
#endif

#define NAME "gpumap-"

enum {
	MAX_TABLE = 16 << 20, /* bytes of a file of /proc */
	MAX_DEPTH = 16,       /* cgroups in cgroups: runs in ranks of runs */
	MAX_NAMES = 10,
	END_MS = 1000
};

static void close_all(struct rank_cgroup *c)
{
	close_variable(&c->parent);
	close_variable(&c->folder);
	close_variable(&c->kill);
	*c = (struct rank_cgroup){.parent = -1, .folder = -1, .kill = -1};
}

static int open_folder(int parent, const char *name)
{
	return openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* --- removing -------------------------------------------------------------------- */

/* Whether a process is in the cgroup or below. `events`: its cgroup.events, which poll(2) reports
 * as changed until it is read. */
static bool is_populated(int events)
{
	char text[256];
	ssize_t n = pread(events, text, sizeof(text) - 1, 0);

	if (n < 0)
		return false;
	text[n] = '\0';
	return strstr(text, "populated 1") != NULL;
}

static bool remove_tree(int parent, const char *name, int depth);

/* Ranks can have made cgroups in it, for example by a run of their own. */
static void remove_below(int folder, int depth)
{
	CLEANUP_FOLDER DIR *dir = entries_of(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && *entry->d_name != '.')
			remove_tree(folder, entry->d_name, depth + 1);
}

/* False: a process is in it, or the kernel has not yet finished one. */
static bool remove_tree(int parent, const char *name, int depth)
{
	CLEANUP_CLOSE int folder = -1, events = -1;

	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return true;
	folder = depth < MAX_DEPTH ? open_folder(parent, name) : -1;
	if (folder < 0)
		return false;
	events = openat(folder, "cgroup.events", O_RDONLY | O_CLOEXEC);
	if (events >= 0 && !is_populated(events))
		remove_below(folder, depth);
	return unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

/* Removes what earlier launchers left that were killed together with their keepers. */
static void remove_dead(int parent)
{
	CLEANUP_FOLDER DIR *dir = entries_of(parent);
	struct dirent *entry;
	struct stat st;

	while (dir && (entry = readdir(dir))) {
		struct span pid = span_of(entry->d_name);
		int64_t number;

		if (!starts_with(entry->d_name, NAME))
			continue;
		pid.text += strlen(NAME);
		pid.length = strcspn(pid.text, ".");
		number = span_number(pid, INT32_MAX);
		if (number <= 0 || (number != getpid() && kill((pid_t)number, 0) == 0) ||
		    (number != getpid() && errno != ESRCH))
			continue;
		if (fstatat(parent, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_uid == geteuid())
			remove_tree(parent, entry->d_name, 0);
	}
}

/* Kills all in it and removes it. False: that takes longer than `ms`; -1: no limit. */
static bool end_cgroup(const struct rank_cgroup *c, int64_t ms)
{
	CLEANUP_CLOSE int events = openat(c->folder, "cgroup.events", O_RDONLY | O_CLOEXEC);
	int64_t end = now_ns() + ms * NS_PER_MS;
	bool removed;

	while (!(removed = remove_tree(c->parent, c->name, 0)) && (ms < 0 || now_ns() < end)) {
		struct pollfd changed = {events, POLLPRI, 0};

		if (write(c->kill, "1", 1) < 0)
			break;
		/* The kernel may report the end of a process before its cgroup is empty. */
		poll(&changed, 1, is_populated(events) ? 100 : 1);
	}
	return removed;
}

/* --- the keeper -------------------------------------------------------------------- */

/* The kernel sends SIGTERM at the end of the parent. Other processes may send signals too. */
static void await_end(pid_t launcher, const sigset_t *blocked)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	while (getppid() == launcher)
		sigwaitinfo(blocked, NULL);
}

static void keep(struct rank_cgroup *c, pid_t launcher, int null, const int *held)
	__attribute__((noreturn));
static void keep(struct rank_cgroup *c, pid_t launcher, int null, const int *held)
{
	const int kept[] = {c->parent, c->folder, c->kill};
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	process_title("rank-keeper", launcher);
	drop_inherited(null, kept, ARRAY_SIZE(kept), held);
	await_end(launcher, &all);
	end_cgroup(c, -1);
	_exit(0);
}

static bool start_keeper(struct rank_cgroup *c, int null, const int *held)
{
	pid_t self = getpid();

	c->keeper = fork();
	if (c->keeper == 0)
		keep(c, self, null, held);
	return c->keeper > 0;
}

/* --- making ------------------------------------------------------------------------ */

static bool make_folder(struct rank_cgroup *c)
{
	for (int i = 0; i < MAX_NAMES; i++) {
		if (i == 0)
			snprintf(c->name, sizeof(c->name), NAME "%d", (int)getpid());
		else /* this number was another launcher's, perhaps in another namespace */
			snprintf(c->name, sizeof(c->name), NAME "%d.%d", (int)getpid(), i);
		if (mkdirat(c->parent, c->name, 0755) == 0)
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

static void make_in(struct rank_cgroup *c, int null, const int *held)
{
	struct statfs fs;

	if (c->parent < 0 || fstatfs(c->parent, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
		return;
	remove_dead(c->parent);
	if (!make_folder(c))
		return;
	c->folder = open_folder(c->parent, c->name);
	/* Since Linux 5.14. Without it processes that fork as fast as they are killed would stay.
	 */
	if (c->folder >= 0)
		c->kill = openat(c->folder, "cgroup.kill", O_WRONLY | O_CLOEXEC);
	c->made = c->kill >= 0 && start_keeper(c, null, held);
	if (!c->made)
		unlinkat(c->parent, c->name, AT_REMOVEDIR);
}

/* The path of this process in the hierarchy of version 2. */
static bool own_path(const char *text, struct span *ret)
{
	struct span rest = span_of(text), line;

	while (span_split(&rest, '\n', &line))
		if (span_starts(line, "0::/")) {
			*ret = (struct span){line.text + 3, line.length - 3};
			return true;
		}
	return false;
}

void rank_cgroup_make(struct rank_cgroup *c, int null, const int *held)
{
	CLEANUP_FREE char *own = NULL, *mounts = NULL;
	struct span path, rest, line;
	size_t size;

	*c = (struct rank_cgroup){.parent = -1, .folder = -1, .kill = -1};
	if (read_file("/proc/self/cgroup", false, MAX_TABLE, &own, &size) ||
	    !own_path(own, &path) ||
	    read_file("/proc/self/mountinfo", false, MAX_TABLE, &mounts, &size))
		return;
	rest = span_of(mounts);
	while (!c->made && span_split(&rest, '\n', &line)) {
		char folder[PATH_MAX];

		if (!cgroup_folder(folder, sizeof(folder), line, path))
			continue;
		c->parent = open_folder(AT_FDCWD, folder);
		make_in(c, null, held);
		if (!c->made)
			close_all(c);
	}
}

/* --- using ------------------------------------------------------------------------- */

/* Moving a process between cgroups can take the kernel many milliseconds; a fork into one does not.
 * This is fork(2) for a process with one thread, except that the C library does not learn of it. */
static pid_t clone_into(const struct rank_cgroup *c)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls,
			set_tid, set_tid_size, cgroup;
	} arguments = {.flags = UINT64_C(0x200000000), /* CLONE_INTO_CGROUP */
		       .exit_signal = SIGCHLD,
		       .cgroup = (uint64_t)c->folder};

	return (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));
}

/* fork(2), for kernels and sandboxes that refuse to clone into a cgroup. The child continues when
 * the parent has moved it; *moved is false if that failed. */
static pid_t fork_and_move(const struct rank_cgroup *c, bool *moved)
{
	CLEANUP_CLOSE int procs = openat(c->folder, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	int gate[2];
	char byte;
	pid_t pid;

	*moved = false;
	if (procs < 0 || pipe2(gate, O_CLOEXEC) < 0)
		return fork();
	pid = fork();
	if (pid == 0) {
		close(gate[1]);
		UNINTERRUPTED(read(gate[0], &byte, 1));
	} else if (pid > 0) {
		*moved = dprintf(procs, "%d", (int)pid) > 0;
	}
	close(gate[0]);
	if (pid)
		close(gate[1]);
	return pid;
}

pid_t rank_cgroup_fork(struct rank_cgroup *c)
{
	bool moved;
	pid_t pid;

	if (!c->made)
		return fork();
	pid = clone_into(c);
	if (pid >= 0)
		return pid;
	pid = fork_and_move(c, &moved);
	if (pid > 0 && !moved)
		rank_cgroup_end(c);
	return pid;
}

void rank_cgroup_end(struct rank_cgroup *c)
{
	if (!c->made)
		return;
	if (end_cgroup(c, END_MS)) {
		kill(c->keeper, SIGKILL);
		waitpid(c->keeper, NULL, 0);
	}
	close_all(c);
}
