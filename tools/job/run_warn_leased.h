/* SPDX-License-Identifier: MIT */
/* Before a run begins: whether its GPUs are leased by others. */
#ifndef GM_RUN_WARN_LEASED_H
#define GM_RUN_WARN_LEASED_H

#include "gpumap.h"

/* A warning if GPUs of the ranks of this host, `node`, are leased, but not by the lease that this
 * process runs in. GPUs of another machine's inventory are not looked at. */
void run_warn_leased(const gpumap_plan *plan, int64_t node, gpumap_report *report);

#endif
