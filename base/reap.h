/* SPDX-License-Identifier: MIT */
/* The ends of child processes, and the signals that are passed on to them meanwhile. */
#ifndef GM_REAP_H
#define GM_REAP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Milliseconds of the monotonic clock. */
int64_t clock_milliseconds(void);

/* Waits for the end of the process, up to a deadline of that clock: a process that hangs inside the
 * kernel cannot even be killed. Returns whether it ended. *status is -1 if another part of this
 * process collected it. */
bool reap_until(pid_t pid, int64_t deadline, int *status);

/* Blocks SIGCHLD, and the signals that a user sends to a program: sigwaitinfo(2) takes them from
 * *caught. Those that are ignored stay so. *before is the mask for the children. */
void reap_signals(sigset_t *caught, sigset_t *before);

/* The status of waitpid(2) as a shell has it: 128 + N if signal N ended the process. */
int reap_status(int how);

#endif
