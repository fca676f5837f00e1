/* SPDX-License-Identifier: MIT */
/*
 * How objects of the library end with their variable:
 *
 *	CLEANUP(end_report) gpumap_report *report = NULL;
 *
 * Each is what the public function of its type does.
 */
#ifndef GM_CLEANUP_H
#define GM_CLEANUP_H

#include "gpumap.h"

#define CLEANUP_TYPE(name, type, end) \
	static inline void name(type **variable) \
	{ \
		end(*variable); \
	}
CLEANUP_TYPE(end_claim, gpumap_claim, gpumap_claim_free)
CLEANUP_TYPE(end_hosts, gpumap_hosts, gpumap_hosts_free)
CLEANUP_TYPE(end_inventory, gpumap_inventory, gpumap_inventory_free)
CLEANUP_TYPE(end_lease, gpumap_lease, gpumap_lease_free)
CLEANUP_TYPE(end_mapping, gpumap_mapping, gpumap_mapping_free)
CLEANUP_TYPE(end_plan, gpumap_plan, gpumap_plan_free)
CLEANUP_TYPE(end_profile, gpumap_profile, gpumap_profile_free)
CLEANUP_TYPE(end_report, gpumap_report, gpumap_report_free)
CLEANUP_TYPE(end_request, gpumap_request, gpumap_request_free)
#undef CLEANUP_TYPE

#endif
