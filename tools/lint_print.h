/* SPDX-License-Identifier: MIT */
#ifndef GM_LINT_PRINT_H
#define GM_LINT_PRINT_H

#include "command.h"

/* Prints the findings, one by one, or as JSON with the errors of the command line; false after a
 * finding when that fails. */
bool lint_print(const gpumap_report *found, const struct output *output);

#endif
