/* SPDX-License-Identifier: MIT */
#ifndef GM_PROCESS_H
#define GM_PROCESS_H

#include "gpumap.h"

/* States what is known of the running process `pid` (text): its environment at its
 * start, the devices that its cgroup (version 1) lets through, and remarks on a
 * container and on the device files it has open. `inventory` (may be NULL) translates
 * minor numbers. GPUMAP_EINPUT: no number; GPUMAP_EFILE: no such process, or not ours. */
int process_request(gpumap_request *request, const char *pid, const gpumap_inventory *inventory,
		    gpumap_report *report);

#endif
