/* SPDX-License-Identifier: MIT */
/* The parts of a doctor, for the writers of its report. */
#ifndef GM_DOCTOR_PRIVATE_H
#define GM_DOCTOR_PRIVATE_H

#include "check.h"
#include "doctor.h"
#include "redact.h"

struct doctor {
	struct facts facts;
	struct arena arena;
	struct verdict *verdicts; /* of the checks, in their order */
	gpumap_report *found;     /* errors first, then warnings and remarks */
	struct discreet names;
	const char *gpus_unseen;    /* why it is not known whether there is a GPU; NULL: it is */
	const char *program_unseen; /* why nothing is known about the program; NULL: it is known */
};

/* No program can use a GPU. */
bool doctor_without_gpu(const struct doctor *doctor);
/* A recording shows so little that nothing can be said about GPUs. */
bool doctor_blind(const struct doctor *doctor);

/* "the kernel's log: Operation not permitted": the i-th thing that was not visible; NULL: there are
 * no more. */
const char *doctor_unseen(const struct doctor *doctor, size_t i);

#endif
