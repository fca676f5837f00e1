/* SPDX-License-Identifier: MIT */
/*
 * The machine that programs find which ask NVML: gpumap's libnvidia-ml.so.1 comes first. No process
 * may be left to remove a temporary file, and a program that starts children (Python does) may
 * close inherited descriptors. So the environment, which every descendant inherits, describes the
 * machine: by the path of a file that the user keeps, or by its name such as "8xH100"; what cannot
 * be opened twice (a pipe, this host) by the text of a snapshot.
 */
#ifndef GM_PRETENDED_H
#define GM_PRETENDED_H

#include <limits.h>
#include <stdbool.h>

#include "gpumap.h"

/* A temporary folder of this name, the id of its process, and -XXXXXX is removed by the next
 * process that pretends, unless that process lives, or a file in it is locked. */
#define PRETENDED_FOLDER "gpumap-pretended-"

/* TMPDIR, or else /tmp. */
const char *pretended_parent(void);
/* Makes such a folder, of mode 0700. False with errno: `ret` is "". */
bool pretended_folder(char ret[PATH_MAX]);

/* Puts a folder before those that a variable has; `otherwise`: what it has when it is not set, or
 * NULL. False with errno. */
bool pretended_put_before(const char *variable, const char *folder, const char *otherwise);

/* Makes this process's environment that of the machine `what` (--inventory), with leases of its own
 * unless GPUMAP_LEASES is set. Returns STATUS_ANSWERED; STATUS_MALFORMED or STATUS_OWN_FAILURE
 * after a finding. */
int pretended_machine(const char *what, gpumap_report *report);

#endif
