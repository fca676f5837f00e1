/* SPDX-License-Identifier: MIT */
/* gpumap pick --shell: eval "$(gpumap pick 2 --shell)" */
#ifndef GM_FIND_SHELL_H
#define GM_FIND_SHELL_H

#include <stdbool.h>
#include <sys/types.h>

struct strbuf;

/* The shell that will evaluate what this process writes; 0: that cannot be seen. */
pid_t shell_find(void);

/* Whether a program of this name is a shell: "bash", "ksh93", "zsh (deleted)". */
bool is_shell_name(const char *name);

/* Appends a line of POSIX shell that exports the list, and the process that keeps the lease, by
 * which jobs in the shell know that they are inside. */
void shell_export(struct strbuf *buf, const char *list, pid_t keeper);

#endif
