/* SPDX-License-Identifier: MIT */
#ifndef GM_LINT_ENVIRONMENT_H
#define GM_LINT_ENVIRONMENT_H

#include "gpumap.h"

/* Findings about an environment in which programs are started. `inventory` is the machine and may
 * be NULL. *visible (may be NULL) is the number of devices that a program sees, -1: not known.
 * Codes as those of gpumap_resolve; findings are in the report even if it fails. */
int lint_environment(const char *const *envp, const gpumap_inventory *inventory, int64_t *visible,
		     gpumap_report *report);

#endif
