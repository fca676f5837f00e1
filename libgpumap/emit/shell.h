/* SPDX-License-Identifier: MIT */
/* The parts of a script that are the same for all plans. */
#ifndef GM_SHELL_H
#define GM_SHELL_H

#include "emit/emit.h"

void shell_begin(struct emitter *e); /* functions that start and end ranks */
void shell_end(struct emitter *e);   /* waits for the ranks */

#endif
