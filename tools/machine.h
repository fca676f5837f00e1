/* SPDX-License-Identifier: MIT */
#ifndef GM_MACHINE_H
#define GM_MACHINE_H

#include "gpumap.h"

#include <stdbool.h>

/* The machine that --inventory names; `what` NULL is this host. `ask_driver` measures
 * CUDA's order, which only this host's driver can answer. */
int machine_open(gpumap_inventory **ret, const char *what, bool ask_driver, gpumap_report *report);

#endif
