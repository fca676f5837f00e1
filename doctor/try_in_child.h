/* SPDX-License-Identifier: MIT */
/* Something that may hang inside the kernel, tried in a child process first. */
#ifndef GM_TRY_IN_CHILD_H
#define GM_TRY_IN_CHILD_H

#include <stdbool.h>

/* Whether `try` ends within `patience` milliseconds, also by a crash. It reads and prints nothing.
 * What it changes in memory is lost. True if there can be no child. */
bool attempt(void (*try)(void), int patience);

#endif
