/* SPDX-License-Identifier: MIT */
/* One process, also when it has ended and another one has its number. */
#ifndef GM_PROCESS_HANDLE_H
#define GM_PROCESS_HANDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* pidfd_open(2); -1 with errno. */
int process_pidfd(pid_t pid);

struct process_handle {
	pid_t pid;
	uint64_t start; /* as struct process_stat has it */
	int fd;         /* its pidfd, readable once it has ended; -1: the kernel has none */
	int folder;     /* then its folder in /proc, by which others see who is held; -1 */
};

/* 0, or an errno: ESRCH, there is no such process, or it has ended; EINVAL, it is a thread of
 * another process; EACCES, it is running, and /proc hides it; EXDEV, /proc has the numbers of
 * another pid namespace. */
int process_handle_open(struct process_handle *ret, pid_t pid);
bool process_handle_ended(const struct process_handle *handle);
void process_handle_close(struct process_handle *handle);

#endif
