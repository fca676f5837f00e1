/* SPDX-License-Identifier: MIT */
/*
 * The check of a machine before a job: gathers facts, judges them by a table of checks, and
 * writes a report. doctor/README.md describes the parts.
 */
#ifndef GM_DOCTOR_H
#define GM_DOCTOR_H

#include "gpumap.h"

#include "strbuf.h"

struct doctor_options {
	const char *root;           /* the folder of a recorded machine; "": this one */
	const char *const *environ; /* of this process; a recorded machine has its own */
	const char *const *program; /* with its arguments, ended by NULL; NULL: none */
	bool all;                   /* the report may have names of users, hosts and folders */
};

struct doctor;

/* Looks at the machine and judges it. GPUMAP_EFILE: the root or the program cannot be opened. Only
 * failures are reported in `report`. */
int doctor_new(struct doctor **ret, const struct doctor_options *options, gpumap_report *report);
void doctor_free(struct doctor *doctor);

/* Whether it found an error or a warning, could not check the program, or found no GPU that a
 * program can use. */
bool doctor_wrong(const struct doctor *doctor);

/* Appends the report. */
void doctor_text(struct strbuf *buf, const struct doctor *doctor);
void doctor_json(struct strbuf *buf, const struct doctor *doctor);

#endif
