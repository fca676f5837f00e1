/* SPDX-License-Identifier: MIT */
/* A plan as gpumap plan and run --dry-run print it. */
#ifndef GM_PLAN_SHOW_H
#define GM_PLAN_SHOW_H

#include "cli/output.h"

/* Prints the plan by output->format. *answered: whether it can be started. */
int plan_show(const gpumap_plan *plan, const struct output *output, bool origin, bool *answered);

/* For output->no_answer of these commands: the members of a plan. */
int no_plan(char **text, const struct output *output);

#endif
