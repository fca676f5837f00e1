/* SPDX-License-Identifier: MIT */
#ifndef GM_LAUNCH_PROCESS_TITLE_H
#define GM_LAUNCH_PROCESS_TITLE_H

#include <sys/types.h>

/* Sets the name and the command line that ps(1) shows for this forked process: "NAME of PID", where
 * PID is the process that it is there for; as far as the command line that it had is long enough,
 * "NAME PID" or "NAME" otherwise. With those of that process, `pkill -f train.py` would
 * also hit it. The strings of main's argv are gone then. */
void process_title(const char *name, pid_t pid);

#endif
