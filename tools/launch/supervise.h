/* SPDX-License-Identifier: MIT */
#ifndef GM_SUPERVISE_H
#define GM_SUPERVISE_H

#include "console.h"
#include "exit_status.h"

enum {
	WINDOW_MS = 100,   /* what fails so soon after the first counts as first too */
	LINGER_MS = 1000,  /* the time in which helpers of an ended rank may end by themselves */
	GIVE_UP_MS = 10000 /* after SIGKILL: processes that still exist hang in the kernel */
};

/* The stages of ending the ranks. */
enum ending { RUNNING, STOPPING, KILLING, GIVEN_UP };

/* Times of the next actions; 0: none. */
enum deadline {
	DEADLINE_LIMIT,
	DEADLINE_WINDOW,
	DEADLINE_LINGER,
	DEADLINE_GRACE,
	DEADLINE_GIVE_UP,
	DEADLINE_COUNT
};

struct supervisor {
	const struct launch *launch;
	struct launch_result *result;
	gpumap_report *report;
	struct process_state state;
	struct rank_cgroup cgroup;
	struct console console;
	int epoll, signals, timer, guard; /* guard: the socket, -1: it is gone */
	pid_t guard_pid;
	int64_t deadlines[DEADLINE_COUNT], armed_ns;

	/* of one start */
	enum ending ending;
	bool empty, refused;
	enum launch_cause halted; /* why no further start follows; LAUNCH_DONE: no reason */
	int refusal;
	int64_t first_ns, stop_ns;
	size_t living;
	bool discard; /* drop the pending output */

	/* Children of the process from before the run, which are not ranks. */
	pid_t others[64];
	size_t other_count;
};

/* One start of all ranks, until all are gone. False: it could not be made. */
bool supervise(struct supervisor *s);

/* Ends the ranks: kill_signal, or SIGKILL. */
void supervise_stop(struct supervisor *s);
void supervise_kill(struct supervisor *s);

/* Reports the first failure, or another cause of the end, and sets the status. */
void supervise_conclude(struct supervisor *s);

/* A rank has failed: whether it did so first. */
void failure_note(struct supervisor *s, struct launch_exit *e);
/* Reports the ranks that failed first. The very first; NULL: none failed. */
const struct launch_exit *failure_report(struct supervisor *s);

/* After all ranks have ended: whether all are to start again. */
bool on_fail_again(struct supervisor *s);

/* Handles the guard's messages, and the end of the guard. */
void guard_read_events(struct supervisor *s);
void guard_send(struct supervisor *s, enum guard_command command, int sig);

#endif
