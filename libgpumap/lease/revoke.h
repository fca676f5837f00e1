/* SPDX-License-Identifier: MIT */
/* Ending a lease whose processes go on. */
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
	REVOKE_NOT_VISIBLE, /* no process that has the locks open is visible here */
};

/* Takes the locks of the marked GPUs of the inventory, which is that of this host, from all
 * processes that have them open: of whole GPUs, or with `slots_of` not -1 of the slots that this
 * process took; 0: those whose process is not visible. Also the locks of jobs inside these leases.
 * No process ends, or is told. Then those who wait wake. ret[i] is what became of the i-th GPU.
 * GPUMAP_EFILE, GPUMAP_EBUSY (the gate), GPUMAP_ENOMEM. */
int lease_revoke(enum revoke_failure *ret, const gpumap_claim *claim,
		 const gpumap_inventory *inventory, const bool *gpus, int64_t slots_of,
		 gpumap_report *report);

/* Unlocks a lease of this process, also for the processes that have inherited it, and those inside
 * it, and wakes those who wait. */
void lease_let_go(const gpumap_lease *lease);

#endif
