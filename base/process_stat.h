/* SPDX-License-Identifier: MIT */
/* A process as /proc/PID/stat describes it. */
#ifndef GM_PROCESS_STAT_H
#define GM_PROCESS_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_stat {
	pid_t parent, group;
	bool terminal; /* it has one */
	bool dead;
	bool stopped;   /* by a signal, or by a debugger */
	bool no_memory; /* dead, or a thread of the kernel */
	/* exec() has not yet written the environment, or the caller may not read it. */
	bool in_exec;
	uint64_t start;              /* with the pid, identifies a process uniquely */
	uint64_t arg_start, arg_end; /* addresses of its command line; 0: not known */
};

/* False: there is no such process, or no /proc. Allocates nothing. */
bool process_stat_read(struct process_stat *ret, pid_t pid);

#endif
