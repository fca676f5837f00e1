/* SPDX-License-Identifier: MIT */
#ifndef GM_GATHER_H
#define GM_GATHER_H

#include "facts.h"

/* Fills in `facts`. */
void gather(struct facts *facts, const char *root, const char *const *environ);

/* Parts of gather(), each in its own file. */
void gather_system(struct facts *facts);
void gather_limits(struct facts *facts);
void gather_driver(struct facts *facts);
void gather_devices(struct facts *facts);
void gather_pci(struct facts *facts);
void gather_nvml(struct facts *facts);
void gather_libraries(struct facts *facts);
void gather_log(struct facts *facts);

#endif
