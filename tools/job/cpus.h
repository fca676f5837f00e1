/* SPDX-License-Identifier: MIT */
#ifndef GM_CPUS_H
#define GM_CPUS_H

#include "plan/plan.h"

/* The CPUs of this machine, for plans. Do not move it: it points into itself. */
struct cpus {
	struct plan_cpus plan;
	struct cpu_topology topology;
	struct arena arena;
};

/* Reads from `sysroot`/sys which CPUs there are, and which of them this process may use. `sysroot`
 * NULL is this machine; for another tree the second part is not known. What a missing file would
 * have is not known either, and is not an error. GPUMAP_ENOMEM. */
int cpus_read(struct cpus *ret, const char *sysroot, gpumap_report *report);
void cpus_free(struct cpus *cpus);

#endif
