/* SPDX-License-Identifier: MIT */
/* One value of an answer, for a script: gpumap --format index. */
#ifndef GM_EXPLAIN_VALUE_H
#define GM_EXPLAIN_VALUE_H

#include "cli/output.h"

/* For struct output, in this order from 1. */
#define EXPLAIN_VALUES "index|uuid|pci|indices|uuids"

/* Prints what --format asks for: of the chosen device, or of all that are visible. GPUMAP_OK with
 * *known false, after its error: it is not known, and nothing is printed. */
int explain_value(const gpumap_mapping *mapping, int value, bool *known, gpumap_report *report);

#endif
