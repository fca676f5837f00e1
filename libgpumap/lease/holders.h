/* SPDX-License-Identifier: MIT */
/* Who holds the leases of GPUs. */
#ifndef GM_LEASE_HOLDERS_H
#define GM_LEASE_HOLDERS_H

#include "gpumap.h"

/* As gpumap_lease_holders, but of each unit of the inventory (units.h), and those of the lease that
 * this process runs in are not leased. */
int lease_outside(int64_t *ret, const gpumap_claim *claim, const gpumap_inventory *inventory);

#endif
