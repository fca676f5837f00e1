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

/* Reads the CPUs from `sysroot`/sys, and which of them this process may use. A missing file is not
 * an error; its information is not known. `sysroot` NULL is this machine; for another tree it is
 * not known which CPUs this process may use. GPUMAP_ENOMEM. */
int cpus_read(struct cpus *ret, const char *sysroot, gpumap_report *report);
void cpus_free(struct cpus *cpus);

#endif
