/* SPDX-License-Identifier: MIT */
/* Who holds the leases of GPUs. */
#ifndef GM_LEASE_HOLDERS_H
#define GM_LEASE_HOLDERS_H

#include <sys/stat.h>

#include "lease/lease.h"

/* The default folder: the first if it exists. */
#define LEASE_FOLDER "/run/lock/gpumap"
#define LEASE_OTHER_FOLDER "/tmp/gpumap-leases"

/* Whether this process runs in a lease; false also if that cannot be seen. */
bool lease_runs_inside(const gpumap_claim *claim);

/* As gpumap_lease_holders, but of each unit of the inventory (units.h), and those of the lease that
 * this process runs in are not leased. GPUMAP_OK if the leases of some units are unknown. */
int lease_outside(int64_t *ret, const gpumap_claim *claim, const gpumap_inventory *inventory,
		  gpumap_report *report);

/* Calls fn for each lease that the sights show: the unit, 1 or the number of slots that it is one
 * of, and the process that took it, 0: not visible. `fd` has its slot or instance open; -1: it is a
 * whole GPU. Call it in the gate. Returns the code of a walk. */
typedef void held_fn(size_t unit, size_t slots, int64_t pid, int fd, void *data);
int lease_held_each(const struct lease_folder *folder, const gpumap_inventory *units,
		    const struct lease_sight *sights, held_fn *fn, void *data);

/* Whether the process has one of the files open, and its lock; `hidden`: what it has open cannot be
 * seen. */
bool lease_holds(int64_t pid, const struct stat *files, size_t count, bool hidden, bool *nomem);
/* The processes that hold a lease which `owner` took, ascending, as far as /proc shows them; *count
 * of them. The caller frees it; NULL: none. */
int64_t *lease_kept_by(size_t *count, const gpumap_claim *claim, int64_t owner);

#endif
