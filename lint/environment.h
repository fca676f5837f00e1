/* SPDX-License-Identifier: MIT */
#ifndef GM_LINT_ENVIRONMENT_H
#define GM_LINT_ENVIRONMENT_H

#include "gpumap.h"

/* Findings about an environment that programs are started in. `inventory` is the machine and
 * may be NULL. *visible (may be NULL) is the number of devices that a program sees, -1: not
 * known. Codes as those of gpumap_resolve; what is found is in the report all the same. */
int lint_environment(const char *const *envp, const gpumap_inventory *inventory, int64_t *visible,
		     gpumap_report *report);

#endif
