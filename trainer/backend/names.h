/* SPDX-License-Identifier: MIT */
/* What --backend names, for who asks before there is a device. */
#ifndef TRAIN_BACKEND_NAMES_H
#define TRAIN_BACKEND_NAMES_H

#include <stdbool.h>

/* Whether the devices of that backend are the CPU under the numbers of GPUs, so that no GPU need be
 * there. Of any name of --backend, "auto" too, and whether or not this build has it. */
bool backend_simulates(const char *name);

#endif
