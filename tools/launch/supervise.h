/* SPDX-License-Identifier: MIT */
#ifndef GM_SUPERVISE_H
#define GM_SUPERVISE_H

#include "console.h"

/* Statuses to return. */
enum { TIME_LIMIT = 124, OWN_FAILURE = 125 };

/* How far the ending of the ranks is. */
enum ending { RUNNING, STOPPING, KILLING, GIVEN_UP };

/* Moments at which something is to be done; 0: none. */
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
	struct console console;
	int epoll, signals, timer, guard; /* guard: the socket, -1: it is gone */
	pid_t guard_pid;
	int64_t deadlines[DEADLINE_COUNT], armed_ns;

	/* of one start */
	enum ending ending;
	bool empty, refused;
	enum launch_cause halted; /* why all starts end; LAUNCH_DONE: no reason */
	int refusal;
	int64_t first_ns, stop_ns;
	size_t living;
	bool discard; /* what is pending is not worth waiting for */

	/* Children of before, which are not the ranks'. */
	pid_t others[64];
	size_t other_count;
};

/* One start of all ranks, until all are gone. False: it did not come about. */
bool supervise(struct supervisor *s);

/* Ends the ranks: kill_signal, or SIGKILL. */
void supervise_stop(struct supervisor *s);
void supervise_kill(struct supervisor *s);

/* Reports the first failure, or what else ended the ranks, and sets the status. */
void supervise_conclude(struct supervisor *s);

/* Handles the guard's messages, and its end. */
void guard_read_events(struct supervisor *s);
void guard_send(struct supervisor *s, enum guard_command command, int sig);

#endif
