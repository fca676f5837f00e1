/* SPDX-License-Identifier: MIT */
/* The GPUs of gpus = free:COUNT. */
#ifndef GM_PLAN_LEASE_H
#define GM_PLAN_LEASE_H

#include "job/plan_hosts.h"
#include "job/plan_open.h"

/* If the profile has gpus = free:COUNT for this host, chooses the GPUs and tells the hosts. With
 * options->lease it takes their lease; otherwise the plan only shows them. If they cannot be shown,
 * the plan cannot be started, and the report has the reason. GPUMAP_EINPUT, GPUMAP_EBUSY,
 * GPUMAP_EFILE, GPUMAP_ENOMEM. */
int plan_lease(const struct plan_options *options, const gpumap_profile *profile,
	       struct plan_hosts *hosts, gpumap_report *report);

/* Takes the lease of a plan that was read from a file: of its GPUs, and no others. *ret stays NULL
 * if the plan has none. */
int plan_lease_again(gpumap_lease **ret, const gpumap_plan *plan, gpumap_report *report);

#endif
