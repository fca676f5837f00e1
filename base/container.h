/* SPDX-License-Identifier: MIT */
/* The container, or the job of Slurm, that a process runs in, by the paths of its cgroups. */
#ifndef GM_CONTAINER_H
#define GM_CONTAINER_H

#include "text.h"

struct container {
	const char *runtime; /* "docker", "podman", "kubepods", "lxc", ..., or "slurm". Static. */
	struct span id;      /* of the container or job; a part of the text */
	bool separate;       /* a container: it may number its devices in its own way */
};

/* Finds it in the text of /proc/PID/cgroup. Of several it takes the innermost. False: the process
 * is in none, or the paths do not show it, as inside of a container that has its own view. */
bool container_find(struct container *ret, const char *text);
/* Whether this is a container, and another than that of the text `own` (may be NULL). */
bool container_is_other(const struct container *container, const char *own);

/* Whether this process is in a PID namespace of its own, so that it does not see the processes
 * outside. True if /proc does not show it. */
bool container_hides_processes(void);

#endif
