/* SPDX-License-Identifier: MIT */
/* Leases as commands take them: by the environment of this process, and with messages. */
#ifndef GM_LEASE_HERE_H
#define GM_LEASE_HERE_H

#include "gpumap.h"

/* Gives a claim what this process says about leases: its folder (GPUMAP_LEASES), the files of a
 * pretended machine, and the GPUs that the process sees. */
int lease_here(gpumap_claim *claim, gpumap_report *report);

/* Only the folder and the files of a pretended machine. */
int lease_folders_here(gpumap_claim *claim, gpumap_report *report);

/* gpumap_lease_take, which prints on standard error what it waits for. */
int lease_take(gpumap_lease **ret, const gpumap_claim *claim, gpumap_report *report);

/* The descriptors of a lease, ended by -1; the caller frees them. NULL: no memory. */
int *lease_descriptors(const gpumap_lease *lease);

#endif
