/* SPDX-License-Identifier: MIT */
/* Finds the MIG instance that a name of a list means (rules V6 and V9). Which instances a driver
 * shows is in view_mig.c. */
#ifndef GM_VISIBLE_MIG_H
#define GM_VISIBLE_MIG_H

#include "visible/uuid.h"

/* MIG-UUID or MIG-GPU-UUID/GI/CI: the instance's position in *mig. */
enum visible_end uuids_find_mig(const struct uuid_names *names, struct span text, int *mig);

#endif
