/* SPDX-License-Identifier: MIT */
/* The backends that --backend can name, known before a device is opened. */
#ifndef TRAIN_BACKEND_NAMES_H
#define TRAIN_BACKEND_NAMES_H

#include <stdbool.h>

/* Whether the devices of that backend are simulated on the CPU, so that no GPU is needed. Takes any
 * name of --backend, "auto" too, whether or not this build has it. */
bool backend_simulates(const char *name);

/* Whether this build has it. */
bool backend_exists(const char *name);

#endif
