/* SPDX-License-Identifier: MIT */
#ifndef GM_MACHINE_H
#define GM_MACHINE_H

#include "gpumap.h"

#include <stdbool.h>

/* Opens the machine that --inventory names; `what` NULL is this host. `flags` are those of
 * gpumap_inventory_probe, which work only on this host. Findings about a name from GPUMAP_INVENTORY
 * have that origin. */
int machine_open(gpumap_inventory **ret, const char *what, unsigned flags, gpumap_report *report);

/* Whether it has GPUs that programs find. */
bool machine_has_gpus(const gpumap_inventory *inventory);
/* The number of GPUs that programs find on this host. */
int64_t machine_host_gpus(void);

/* The name of the machine: the option's value, else GPUMAP_INVENTORY; NULL: neither, or there are
 * flags, which are about this host. */
const char *machine_named(const char *option, unsigned flags);

#endif
