/* SPDX-License-Identifier: MIT */
/* The end of a child process, waited for up to a deadline. */
#ifndef GM_REAP_H
#define GM_REAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Milliseconds of the monotonic clock. */
int64_t clock_milliseconds(void);

/* Waits for the end of the process, up to a deadline of that clock: a process that hangs inside the
 * kernel cannot even be killed. Returns whether it ended. *status is -1 if another part of this
 * process collected it. */
bool reap_until(pid_t pid, int64_t deadline, int *status);

#endif
