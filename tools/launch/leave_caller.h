/* SPDX-License-Identifier: MIT */
/* What a forked process leaves of its caller, whom it may outlive. */
#ifndef GM_LAUNCH_LEAVE_CALLER_H
#define GM_LAUNCH_LEAVE_CALLER_H

#include <stddef.h>
#include <sys/types.h>

/* Sets the name and the command line that ps(1) shows for this process: "NAME of PID", where PID is
 * the process that it is there for; as far as the command line that it had is long enough, "NAME
 * PID" or "NAME" otherwise. With those of that process, `pkill -f train.py` would also hit it. The
 * strings of main's argv are gone then. */
void process_title(const char *name, pid_t pid);

/* Leaves what it inherited, except the descriptors `keep` and `held` (ended by -1; NULL: none):
 * readers of a program's output must see its end, and no disk or terminal may stay in use. `null`
 * is /dev/null. */
void drop_inherited(int null, const int *keep, size_t count, const int *held);

#endif
