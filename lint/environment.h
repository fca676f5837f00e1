/* SPDX-License-Identifier: MIT */
#ifndef GM_LINT_ENVIRONMENT_H
#define GM_LINT_ENVIRONMENT_H

#include "gpumap.h"
#include "text.h"

/* CUDA_VISIBLE_DEVICES or another name, if a variable is misspelt or an invented one that nothing
 * of CUDA reads; NULL: it is not. */
const char *unread_variable(struct span name);

/* Findings about an environment in which programs are started. `inventory` is the machine and may
 * be NULL. Returns the number of devices that a program sees, -1: not known. */
int64_t lint_environment(const char *const *envp, const gpumap_inventory *inventory,
			 gpumap_report *report);

#endif
