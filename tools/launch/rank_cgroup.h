/* SPDX-License-Identifier: MIT */
/*
 * A cgroup of version 2 that the guard and everything below it are in, and its keeper. One write to
 * cgroup.kill ends all of them at once, also those that a stopped guard would leave.
 *
 *	launcher ---fork---> keeper: when the launcher is gone, ends the cgroup
 *	   \-------clone---> guard, ranks, their children: in the cgroup
 *
 * The cgroup is a folder gpumap-PID in the caller's own. gpumap enables no controller in it, so it
 * neither limits nor counts anything, and the limits of the caller's cgroup hold as before. Only in
 * the root cgroup another program may have enabled controllers for all its children.
 */
#ifndef GM_LAUNCH_RANK_CGROUP_H
#define GM_LAUNCH_RANK_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "text.h"

struct rank_cgroup {
	bool made;
	int parent, folder, kill; /* descriptors: two folders, and cgroup.kill */
	char name[32];            /* of the folder in its parent */
	pid_t keeper;
};

/* Makes the cgroup and its keeper; `null` is /dev/null, and the keeper has the descriptors `held`
 * of struct launch. If that is not possible, nothing is made, and the other functions do nothing
 * more than without a cgroup. */
void rank_cgroup_make(struct rank_cgroup *cgroup, int null, const int *held);
/* fork(2) with the child in the cgroup. If the kernel does not let it in, the cgroup is ended, and
 * `made` is false. */
pid_t rank_cgroup_fork(struct rank_cgroup *cgroup);
/* Kills what is left in the cgroup and removes it. What the kernel cannot end within a second is
 * left to the keeper. */
void rank_cgroup_end(struct rank_cgroup *cgroup);

/* The folder of the cgroup `path` (a path of /proc/PID/cgroup) below the mount of a line of
 * /proc/PID/mountinfo. False: the mount does not have it, or `ret` has no room. */
bool cgroup_folder(char *ret, size_t room, struct span line, struct span path);

#endif
