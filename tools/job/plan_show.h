/* SPDX-License-Identifier: MIT */
/* A plan as gpumap plan and run --dry-run print it. */
#ifndef GM_PLAN_SHOW_H
#define GM_PLAN_SHOW_H

#include "cli/output.h"

/* Prints the plan by output->format. *answered: whether it can be started. */
int plan_show(const gpumap_plan *plan, const struct output *output, bool origin, bool *answered);

/* finish() for these commands: JSON is printed after a failure too, with the members of a plan. */
int plan_finish(struct output *output, int code, bool answered);

#endif
