/* SPDX-License-Identifier: MIT */
/* The processes below a process. */
#ifndef GM_PROCESS_TREE_H
#define GM_PROCESS_TREE_H

#include <stddef.h>
#include <sys/types.h>

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

#endif
