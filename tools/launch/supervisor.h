/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the launcher. */
#ifndef GM_SUPERVISOR_H
#define GM_SUPERVISOR_H

#include "launch.h"

#include <stdint.h>
#include <sys/resource.h>

#include "rank_cgroup.h"
#include "report.h"

enum {
	NS_PER_MS = 1000000,
	/* a rank that fails within this time of the first also counts as first */
	WINDOW_MS = 100,
	LINGER_MS = 1000,   /* the time in which helpers of an ended rank may end by themselves */
	GIVE_UP_MS = 10000, /* after SIGKILL: processes that still exist hang in the kernel */
	AGAIN_MS = 250      /* one Ctrl-C can arrive twice, through a wrapper */
};

/* --- state of the caller that a run changes ---------------------------------- */

struct process_state {
	sigset_t mask, caught;
	struct sigaction pipe, limit, child;
	struct rlimit files; /* for the ranks */
	bool hup_ignored;
	int subreaper;
	int null; /* /dev/null */
};

/* Catches signals, raises the limit of open files to `files`. False: it cannot be raised. */
bool process_state_enter(struct process_state *state, const struct launch *launch, size_t files);
void process_state_leave(const struct process_state *state);

int64_t now_ns(void);

/* --- processes beside the ranks ------------------------------------------------ */

/* Sets the name and the command line that ps(1) shows for this forked process: "NAME of LAUNCHER".
 * With those of the launcher, `pkill -f train.py` would also hit it. The strings of main's argv are
 * gone then. */
void process_title(const char *name, pid_t launcher);

/* Leaves what the process inherited, except the descriptors `keep`, which it sorts: readers of the
 * ranks' output must see its end, and no disk or terminal may stay in use. `null` is /dev/null. */
void drop_inherited(int null, int *keep, size_t count);

/* --- the guard ---------------------------------------------------------------- */

enum guard_event {
	GUARD_FORKED,
	GUARD_REFUSED, /* `stage` failed with `error`; no program is started */
	GUARD_STARTED, /* all of them, at `ns` */
	GUARD_ENDED,   /* `rank`, with `code` and `status` of waitid(2) */
	GUARD_LEFT,    /* all ranks ended; `status` processes are left */
	GUARD_EMPTY    /* no process is left; the guard's last message */
};

enum stage {
	STAGE_READY,
	STAGE_FORK,
	STAGE_FOLDER,
	STAGE_FIND,
	STAGE_EXEC,
	STAGE_BIND /* the first of bind.c's table; the others follow */
};

struct guard_message {
	enum guard_event event;
	enum stage stage;
	int32_t rank; /* index */
	int32_t pid, code, status, error;
	int64_t ns;
	struct timespec wall;
};

enum guard_command { GUARD_SIGNAL, GUARD_END, GUARD_KILL };

struct guard_order {
	enum guard_command command;
	int32_t signal; /* to the ranks' groups; with GUARD_END to every process */
};

/* A rank's output: descriptors for 1 and 2, -1: the caller's own; and the other ends of these
 * pipes, which only the launcher has. */
struct rank_output {
	int out, err, readers[2];
};

/* A rank's report through a pipe, before or instead of its program. */
struct rank_status {
	int32_t rank, pid;
	enum stage stage;
	int32_t error;
};

/* Forks the guard, which forks the ranks. Returns its pid, and the socket in *sock; -1. */
pid_t guard_start(const struct launch *launch, const struct process_state *state,
		  struct rank_cgroup *cgroup, const struct rank_output *outputs, int *sock);

/* Makes the forked child of the guard rank `index`: it prepares, reports the result to `statuses`,
 * waits for a byte in `gate`, and executes the program. */
void rank_become(const struct launch *launch, const struct process_state *state,
		 const struct rank_output *output, size_t index, pid_t guard, int statuses,
		 int gate) __attribute__((noreturn));

/* --- process trees --------------------------------------------------------------- */

/* Descendants of a process that get no signal: those below its children in `spared`, and the
 * members of the process groups in `groups`. */
struct tree_except {
	const pid_t *spared;
	size_t spared_count;
	const pid_t *groups;
	size_t group_count;
};

/* Sends `sig` (0: none), and SIGCONT unless that kills, to every other living descendant of
 * `root`, and returns their number. `except` may be NULL. */
size_t tree_signal(pid_t root, const struct tree_except *except, int sig);

/* The children of `root`, at most `room`. */
size_t tree_children(pid_t root, pid_t *ret, size_t room);

/* --- why a rank was refused -------------------------------------------------------- */

/* Adds a finding and returns the exit status that follows. */
int refusal(const struct launch_rank *rank, const struct guard_message *message,
	    const struct speech *speech, gpumap_report *report);

#endif
