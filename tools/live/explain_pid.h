/* SPDX-License-Identifier: MIT */
/* What --pid says of processes of gpumap run. */
#ifndef GM_EXPLAIN_PID_H
#define GM_EXPLAIN_PID_H

#include "gpumap.h"

/* GPUMAP_EINPUT, with an error that names the ranks, if `pid` is a gpumap run with ranks; else
 * GPUMAP_OK. */
int process_is_run(const char *pid, gpumap_report *report);

/* Adds a statement for the device that the run's plan gives to the rank. It does so only if the
 * process is a rank of gpumap run or descends from one, has the rank's list of several GPUs, and
 * neither an option nor a variable gives the device of its program. */
int process_of_run(gpumap_request *request, const char *pid, const gpumap_inventory *machine,
		   gpumap_report *report);

#endif
