/* SPDX-License-Identifier: MIT */
/* Leases inside a lease. */
#ifndef GM_LEASE_NESTED_H
#define GM_LEASE_NESTED_H

#include "lease/lease.h"

/* If this process runs in a lease, the folder's files are from now on those of the level below it,
 * and only its GPUs can be leased. `keeper` is the process that GPUMAP_LEASE names; 0: it is not
 * set, and nothing changes. The kernel decides: this process, one above it, or the keeper of one
 * above it has the locked files open. If none has, a remark says so. GPUMAP_ENOMEM. */
int lease_nested(struct lease_folder *folder, int64_t keeper, gpumap_report *report);

/* Whether the GPU is one of the outer lease; true if there is none. */
bool lease_is_inside(const struct lease_folder *folder, const gpumap_device *gpu);
/* Whether the outer lease has not ended; also if there is none. GPUMAP_EINPUT after its error. */
int lease_check_inside(const struct lease_folder *folder, int64_t keeper, gpumap_report *report);

#endif
