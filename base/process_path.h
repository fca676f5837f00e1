/* SPDX-License-Identifier: MIT */
/* Paths of the files of a process, to read with readfile.h. */
#ifndef GM_PROCESS_PATH_H
#define GM_PROCESS_PATH_H

#include "base.h"

struct process_path {
	char text[64];
};

/* "/proc/4711/fd/3" for 4711 and "fd/%d"; PROCESS_SELF is this process. errno stays. */
#define PROCESS_SELF INT64_MIN
const char *process_path(struct process_path *ret, int64_t pid, const char *format, ...)
	PRINTF(3, 4);
#define PROCESS_PATH(pid, ...) process_path(&(struct process_path){{0}}, pid, __VA_ARGS__)
#define PROCESS_FOLDER(pid) PROCESS_PATH(pid, "%s", "")

#endif
