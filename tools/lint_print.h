/* SPDX-License-Identifier: MIT */
#ifndef GM_LINT_PRINT_H
#define GM_LINT_PRINT_H

#include "command.h"
#include "strbuf.h"

/* The words of --format, in this order. */
#define LINT_FORMATS "text|json|sarif|github"
enum lint_format { LINT_TEXT, LINT_JSON, LINT_SARIF, LINT_GITHUB };

/* Prints the findings, and in the formats for programs the errors of the command line and of
 * reading, which output->report has; false after a finding when that fails. */
bool lint_print(const gpumap_report *found, const struct output *output, enum lint_format format);

/* lint_sarif.c */
void lint_sarif(struct strbuf *text, const gpumap_report *found, const gpumap_report *report);
void lint_github(struct strbuf *text, const gpumap_report *found, const gpumap_report *report);

#endif
