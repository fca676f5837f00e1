/* SPDX-License-Identifier: MIT */
#ifndef GM_LINT_ENVIRONMENT_H
#define GM_LINT_ENVIRONMENT_H

#include "gpumap.h"
#include "text.h"

/* CUDA_VISIBLE_DEVICES or another name, if a variable is misspelt or an invented one that nothing
 * of CUDA reads; NULL: it is not. */
const char *unread_variable(struct span name);

/* Findings about an environment in which programs are started. `inventory` is the machine and may
 * be NULL. *visible (may be NULL) is the number of devices that a program sees, -1: not known.
 * Codes as those of gpumap_resolve; findings are in the report even if it fails. */
int lint_environment(const char *const *envp, const gpumap_inventory *inventory, int64_t *visible,
		     gpumap_report *report);

#endif
