/* SPDX-License-Identifier: MIT */
/* Ending a lease whose processes keep running. */
#ifndef GM_LEASE_REVOKE_H
#define GM_LEASE_REVOKE_H

#include "gpumap.h"

#include "base.h"

/* Why the locks of a GPU could not be taken from those who hold them. */
enum revoke_failure {
	REVOKE_DONE,
	REVOKE_NOT_LEASED,
	REVOKE_NO_CALL,     /* the kernel lacks pidfd_getfd(2) */
	REVOKE_REFUSED,     /* the processes are another user's, or protected */
	REVOKE_UNOPENED,    /* no process of this machine has the locks open */
	REVOKE_NOT_VISIBLE, /* no process that has the locks open is visible here */
};

/* Ends the lease that the process `owner` took, 0: one that is not visible, of the marked ones of
 * these units (units.h), which are those of this host. All processes that have it open lose its
 * locks, and then jobs inside it theirs. No process ends, or is told. Then those who wait wake.
 * ret[i] is what became of the i-th unit. GPUMAP_EFILE, GPUMAP_EBUSY (the gate), GPUMAP_ENOMEM. */
int lease_revoke(enum revoke_failure *ret, const gpumap_claim *claim,
		 const gpumap_inventory *inventory, const bool *gpus, int64_t owner,
		 gpumap_report *report);

/* Ends a lease of this process in the same way, if it has not been revoked. It waits for the gate.
 */
void lease_let_go(const gpumap_lease *lease);

#endif
