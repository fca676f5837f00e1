/* SPDX-License-Identifier: MIT */
#ifndef GM_MACHINE_H
#define GM_MACHINE_H

#include "gpumap.h"

#include <stdbool.h>

/* The machine that --inventory names; `what` NULL is this host. `ask_driver` measures
 * CUDA's order, which only this host's driver can answer. What is wrong with a name from
 * GPUMAP_INVENTORY has that origin. */
int machine_open(gpumap_inventory **ret, const char *what, bool ask_driver, gpumap_report *report);

/* What names the machine: the option's value, else GPUMAP_INVENTORY; NULL: neither, or
 * --ask-driver, which is about this host. */
const char *machine_named(const char *option, bool ask_driver);

#endif
