/* SPDX-License-Identifier: MIT */
#ifndef GM_PROCESS_H
#define GM_PROCESS_H

#include "gpumap.h"

#include "base.h"

enum { MAX_MINOR = 256 }; /* more than each N of /dev/nvidiaN */

/* Whether it has ended, even if its parent has not collected it. */
bool process_ended(int pid);
/* Whether it is a process of gpumap that can be seen: a run, a guard. */
bool process_is_gpumap(int pid);
/* Whether it is in the pid namespace of this process; false also if that cannot be seen. */
bool process_same_namespace(int pid);

/* The environment with which a running process was started: NAME=VALUE, each ended by a NUL. */
struct process_text {
	char *text;
	size_t size;
};

/* False: it cannot be read (errno has the reason), and nothing is to be freed. */
bool process_text_read(struct process_text *ret, int pid);
void process_text_free(struct process_text *text);
const char *process_variable(const struct process_text *text, const char *name);
/* What its run shows to every user of the rank that the process is, or descends from: its run, its
 * rank and its list, as variables. False: nothing, and nothing is to be freed. */
bool run_shown_read(struct process_text *ret, int pid);

/* Adds an environment that was read as statements. GPUMAP_EINPUT: one of them is malformed. */
int process_text_state(gpumap_request *request, const struct process_text *text,
		       gpumap_report *report);

/* What to do where /proc refuses to show a process: to root it may refuse that too. */
const char *process_refused_fix(void);

/* Whether the environment of the process `pid` (text) can be read: GPUMAP_OK, or the codes of
 * process_environ(), with its findings. */
int process_check(const char *pid, gpumap_report *report);

/* Adds the environment of the running process `pid` (text) as statements. GPUMAP_EINPUT: `pid`
 * is not a number. GPUMAP_EFILE: there is no such process, or it belongs to another user. */
int process_environ(gpumap_request *request, const char *pid, gpumap_report *report);

/* Adds the devices that the cgroup (version 1) of the process allows; cgroup is the text of
 * /proc/PID/cgroup. `inventory` (may be NULL) translates minor numbers. */
int process_cgroup(gpumap_request *request, const char *cgroup, const gpumap_inventory *inventory,
		   gpumap_report *report);

/* GPUMAP_EINPUT, with an error that names the ranks, if `pid` is a gpumap run with ranks; else
 * GPUMAP_OK. */
int process_is_run(const char *pid, gpumap_report *report);

/* Adds a statement for the device that the run's plan gives to the rank. It does so only if the
 * process is a rank of gpumap run or descends from one, has the rank's list of several GPUs, and
 * neither an option nor a variable gives the device of its program. */
int process_of_run(gpumap_request *request, const char *pid, const gpumap_inventory *machine,
		   gpumap_report *report);

/* Marks N of each /dev/nvidiaN that the process has open. False: it has none; *known is whether
 * that can be seen. */
bool process_open_minors(bool minors[MAX_MINOR], int64_t pid, bool *known);
/* Whether it is certain that the process uses no GPU now: NVML lists all processes, and it is not
 * among them, nor has it a GPU open. */
bool process_has_no_gpu(const char *pid);

/* Adds facts from outside of the process: the devices that its cgroup (version 1) allows, and
 * remarks on a container and on its open device files. `inventory` (may be NULL) translates minor
 * numbers. Codes as those of process_environ. */
int process_views(gpumap_request *request, const char *pid, const gpumap_inventory *inventory,
		  gpumap_report *report);

#endif
