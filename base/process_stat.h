/* SPDX-License-Identifier: MIT */
/* A process as /proc/PID/stat and /proc/PID/status describe it. Nothing is allocated. */
#ifndef GM_PROCESS_STAT_H
#define GM_PROCESS_STAT_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_stat {
	pid_t parent, group;
	bool terminal; /* it has one */
	bool dead;
	bool sleeping;  /* it waits for something */
	bool stopped;   /* by a signal, or by a debugger */
	bool no_memory; /* dead, or a thread of the kernel */
	/* exec() has not yet written the environment, or the caller may not read it. */
	bool in_exec;
	uint64_t cpu;                /* the time that it has computed, in ticks of the clock */
	uint64_t start;              /* with the pid, identifies a process uniquely */
	uint64_t arg_start, arg_end; /* addresses of its command line; 0: not known */
};

struct prctl_mm_map;

/* The addresses of this process's memory, as prctl(2) takes them; it changes nothing else. False:
 * there is no /proc. */
bool process_memory_read(struct prctl_mm_map *ret);

/* False: there is no such process, or no /proc. */
bool process_stat_read(struct process_stat *ret, pid_t pid);

/* The next process of /proc, which is open as `proc`; 0: there is none. NULL has none. */
pid_t process_next(DIR *proc);

/* Whether there is such a process, even if /proc hides it (hidepid). */
bool process_exists(pid_t pid);

enum { MAX_ABOVE = 1000 }; /* parents, one above the other, that are looked at */
/* The parent; 0: not known. */
pid_t process_parent(pid_t pid);
/* Whether the process is `above`, or descends from it. */
bool process_is_below(pid_t pid, pid_t above);
/* The real user, and the effective one, which owns what the process makes; -1: not known. */
int64_t process_user(pid_t pid);
int64_t process_effective_user(pid_t pid);
/* The numbers of the process in the pid namespaces from this one down to its own. Returns how many;
 * 0: they are not known. */
enum { MAX_PID_SPACES = 33 };
size_t process_numbers(int64_t ret[MAX_PID_SPACES], pid_t pid);

#endif
