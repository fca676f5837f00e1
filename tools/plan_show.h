/* SPDX-License-Identifier: MIT */
/* A plan as gpumap plan prints it, and run --dry-run. */
#ifndef GM_PLAN_SHOW_H
#define GM_PLAN_SHOW_H

#include "command.h"

/* Prints the plan as output->format says. *answered: whether it can be started. */
int plan_show(const gpumap_plan *plan, const struct output *output, bool origin, bool *answered);

/* finish() of these commands: JSON is owed after a failure too, with the members of a plan. */
int plan_finish(struct output *output, int code, bool answered);

#endif
