/* SPDX-License-Identifier: MIT */
/* The guard and the ranks below it: how they start, and their messages to each other and to the
 * launcher. */
#ifndef GM_GUARD_H
#define GM_GUARD_H

#include "launch.h"

#include <stdint.h>

#include "process_state.h"
#include "rank_cgroup.h"
#include "report/report.h"

enum guard_event {
	GUARD_FORKED,
	GUARD_REFUSED, /* `stage` failed with `error`; no program is started. READY: none failed */
	GUARD_STARTED, /* all of them, at `ns` */
	GUARD_ENDED,   /* `rank`, with `code` and `status` of waitid(2) */
	GUARD_LEFT,    /* all ranks ended; `status` processes are left */
	GUARD_EMPTY    /* no process is left; the guard's last message */
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

struct stream;

/* Forks the guard, which forks the ranks; `outputs` are the two streams of each. Returns its pid,
 * and the socket in *sock; -1. */
pid_t guard_start(const struct launch *launch, const struct process_state *state,
		  struct rank_cgroup *cgroup, struct stream *outputs, int *sock);

/* Makes the forked child of the guard rank `index`: it prepares, writes a message with the result
 * to `statuses`, waits for a byte in `gate`, and executes the program. */
void rank_become(const struct launch *launch, const struct process_state *state,
		 const struct stream *outputs, size_t index, pid_t guard, int statuses, int gate)
	__attribute__((noreturn));

#endif
