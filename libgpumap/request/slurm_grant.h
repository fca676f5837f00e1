/* SPDX-License-Identifier: MIT */
/* Rule L3: a visible list against the GPUs that Slurm granted. */
#ifndef GM_SLURM_GRANT_H
#define GM_SLURM_GRANT_H

#include <stdbool.h>

#include "gpumap.h"

/* The values of SLURM_STEP_GPUS and SLURM_JOB_GPUS; NULL: not set. */
struct slurm_grant {
	const char *step, *job;
};

struct slurm_grant slurm_grant_of(const char *const *envp);

/* Whether a visible list is certainly not Slurm's: it is inside neither variable, and does not
 * count the granted GPUs from 0, as in a device cgroup. False for a list that cannot be compared:
 * it has UUIDs where Slurm has numbers, or either is malformed. */
bool slurm_grant_lacks(const struct slurm_grant *grant, const char *list);

/* Reports such a list; `name` is its variable, `origin` (may be NULL) what set it. Returns the
 * same. */
bool slurm_grant_check(const struct slurm_grant *grant, const char *name, const char *list,
		       const char *origin, gpumap_report *report);

#endif
