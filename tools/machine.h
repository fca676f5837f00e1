/* SPDX-License-Identifier: MIT */
#ifndef GM_MACHINE_H
#define GM_MACHINE_H

#include "gpumap.h"

#include <stdbool.h>

/* Opens the machine that --inventory names; `what` NULL is this host. `ask_driver` measures CUDA's
 * order, which works only on this host. Findings about a name from GPUMAP_INVENTORY have that
 * origin. */
int machine_open(gpumap_inventory **ret, const char *what, bool ask_driver, gpumap_report *report);

/* The name of the machine: the option's value, else GPUMAP_INVENTORY; NULL: neither, or
 * --ask-driver, which is about this host. */
const char *machine_named(const char *option, bool ask_driver);

#endif
