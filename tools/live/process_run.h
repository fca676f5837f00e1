/* SPDX-License-Identifier: MIT */
/* Processes of gpumap run, for --pid. */
#ifndef GM_PROCESS_RUN_H
#define GM_PROCESS_RUN_H

#include "gpumap.h"

#include "base.h"

/* Whether there is such a process, even if /proc hides it (hidepid). */
bool process_exists(int pid);
/* Whether it has ended, even if its parent has not collected it. */
bool process_ended(int pid);
/* Whether it is a process of gpumap that can be seen: a run, a guard. */
bool process_is_gpumap(int pid);
/* Whether it is in the pid namespace of this process; false also if that cannot be seen. */
bool process_same_namespace(int pid);

struct process_text;
/* What its run shows to every user of the rank that the process is, or descends from: its run, its
 * rank and its list, as variables. False: nothing, and nothing is to be freed. */
bool run_shown_read(struct process_text *ret, int pid);

/* GPUMAP_EINPUT, with an error that names the ranks, if `pid` is a gpumap run with ranks; else
 * GPUMAP_OK. */
int process_is_run(const char *pid, gpumap_report *report);

/* Adds a statement for the device that the run's plan gives to the rank. It does so only if the
 * process is a rank of gpumap run or descends from one, has the rank's list of several GPUs, and
 * neither an option nor a variable gives the device of its program. */
int process_of_run(gpumap_request *request, const char *pid, const gpumap_inventory *machine,
		   gpumap_report *report);

#endif
