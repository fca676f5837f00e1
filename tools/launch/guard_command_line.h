/* SPDX-License-Identifier: MIT */
/*
 * What every user may see of the ranks while they run: the command line of their guard,
 * /proc/PID/cmdline, has texts that each end with a NUL. After the title, "rank-guard of 4711", it
 * has for each rank "process=N", with its number in the guard's pid namespace (00: it has ended),
 * and those of its variables that `shown` of struct launch names.
 *
 * The kernel gives it, so nothing is left when the guard is killed, and no process can speak for
 * ranks that are not below it.
 */
#ifndef GM_GUARD_COMMAND_LINE_H
#define GM_GUARD_COMMAND_LINE_H

#include "launch.h"

struct rank_shown {
	char *text;     /* NULL: nothing is shown */
	size_t *places; /* of the number of each rank */
};

/* Makes it the command line of this process, which is the guard. Without memory, or where the
 * kernel does not allow it, nothing is shown, and the title is as it was. */
void rank_shown_begin(struct rank_shown *ret, const struct launch *launch, const pid_t *pids,
		      pid_t launcher);
/* The rank has ended: another process may get its number. */
void rank_shown_ended(const struct rank_shown *shown, size_t index);

/* Sets the name and the command line that ps(1) shows for this process: "NAME of PID", where PID is
 * the process that it is there for; as far as the command line that it had is long enough, "NAME
 * PID" or "NAME" otherwise. With those of that process, `pkill -f train.py` would also hit it. The
 * strings of main's argv are gone then. */
void process_title(const char *name, pid_t pid);

#endif
