/* SPDX-License-Identifier: MIT */
/* Which machine a question of gpumap explain is about. */
#ifndef GM_WHICH_MACHINE_H
#define GM_WHICH_MACHINE_H

#include "gpumap.h"

#include <stdbool.h>

struct question {
	const gpumap_request *request;
	const char *what; /* --inventory, or GPUMAP_INVENTORY; NULL: not given */
	bool ask_driver;
	/* Found by question_machine: */
	gpumap_inventory *machine; /* NULL: a what-if, for which no machine is examined */
	/* this host, to compare a what-if with; NULL: not wanted, or no GPU */
	gpumap_inventory *host;
};

/* Finds the machine. Codes as those of machine_open. */
int question_machine(struct question *question, gpumap_report *report);

/* The GPUs that a process of this host may have open; NULL: not known. */
const gpumap_inventory *question_host(const struct question *question);

/* Adds a remark if the answer for the GPUs of this host differs from the what-if `mapping`. */
int question_compare(const struct question *question, const gpumap_mapping *mapping,
		     gpumap_report *report);

void question_free(struct question *question);

#endif
