/* SPDX-License-Identifier: MIT */
#ifndef GM_CPUS_H
#define GM_CPUS_H

#include "plan/plan.h"

/* The CPUs of this machine, for plans. Is not moved: it points into itself. */
struct cpus {
	struct plan_cpus plan;
	struct cpu_topology topology;
	struct arena arena;
};

/* Reads the CPUs from `sysroot`/sys, and which of them this process may use. What is not
 * there is not known, which is not an error. `sysroot` NULL is this machine; of
 * another tree it is not known what this process may run on. GPUMAP_ENOMEM. */
int cpus_read(struct cpus *ret, const char *sysroot, gpumap_report *report);
void cpus_free(struct cpus *cpus);

#endif
