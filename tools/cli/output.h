/* SPDX-License-Identifier: MIT */
/* What all commands print, and the statuses with which they end. */
#ifndef GM_OUTPUT_H
#define GM_OUTPUT_H

#include "gpumap.h"

#include <stdbool.h>
#include <stdio.h>

#include "launch/exit_status.h"
#include "report/report.h"
#include "strbuf.h"
#include "style.h"

/* Exit statuses, as gpumap(1) documents them. launch/exit_status.h has those of commands that start
 * programs. */
enum {
	STATUS_ANSWERED = 0,
	STATUS_NO = 1,       /* the input is well-formed, and the answer is "no" or an error */
	STATUS_MALFORMED = 2 /* bad input, unknown option, bad file, strict refusal */
};

struct output {
	enum gpumap_format format;
	bool own_format; /* the command takes --format and --json itself */
	int value;       /* which word of --format behind svg was given, from 1; 0: none */
	gpumap_report *report;
	/* Makes the JSON of a command that failed; NULL: it is that of a mapping. */
	int (*no_answer)(char **text, const struct output *output);
};

/* The report of a command, to be freed by the caller. NULL only after out_of_memory_returns(). */
gpumap_report *report_begin(void);
/* Prints the report's findings from the i-th on to standard error, one line each. Returns the
 * number of all findings. */
size_t print_report(const struct output *output, size_t from);
/* Whether the report has a finding with this id. */
bool report_has(const gpumap_report *report, enum finding_id id);
/* The style of a finding, GPUMAP_SEVERITY_REMARK to GPUMAP_SEVERITY_ERROR. */
enum style severity_style(int64_t severity);

/* Writes `text` to standard output. GPUMAP_EFILE, after a finding, if that fails. */
int print_text(const char *text, gpumap_report *report);

/* Writes the text of `buf`, and frees it. GPUMAP_ENOMEM: it has failed. GPUMAP_EFILE. Both after a
 * finding. */
int print_buffer(struct strbuf *buf, gpumap_report *report);

/* Ends a command that printed help or the version. Returns 0, or 2 with a line on standard error if
 * the text could not be written. */
int finish_help(void);

/* Ends a command: prints the report to standard error and returns the exit status for `code`, the
 * library's result, or OPTIONS_HELP. `answered` distinguishes yes from no. A command that failed
 * has printed nothing yet; in JSON it prints its findings. */
int finish(const struct output *output, int code, bool answered);

#endif
