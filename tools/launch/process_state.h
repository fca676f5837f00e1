/* SPDX-License-Identifier: MIT */
/* The state of a process: what a run changes in the caller's, and what the guard and the keeper
 * change in their own. */
#ifndef GM_PROCESS_STATE_H
#define GM_PROCESS_STATE_H

#include "launch.h"

#include <stdint.h>
#include <sys/resource.h>

enum { NS_PER_MS = 1000000 };
int64_t now_ns(void);

/* What a run changes in the caller's. */
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

#endif
