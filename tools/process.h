/* SPDX-License-Identifier: MIT */
#ifndef GM_PROCESS_H
#define GM_PROCESS_H

#include "gpumap.h"

#include "base.h"

/* What a running process was started with: NAME=VALUE, each ended by a NUL. */
struct process_text {
	char *text;
	size_t size;
};

/* False: it cannot be read (errno says why); nothing is to be freed then. */
bool process_text_read(struct process_text *ret, int pid);
void process_text_free(struct process_text *text);
const char *process_variable(const struct process_text *text, const char *name);

/* States what the running process `pid` (text) started with: its environment.
 * GPUMAP_EINPUT: no number; GPUMAP_EFILE: no such process, or not ours. */
int process_environ(gpumap_request *request, const char *pid, gpumap_report *report);

/* States what stands outside of it: the devices that its cgroup (version 1) lets through,
 * and remarks on a container and on the device files it has open. `inventory` (may be NULL)
 * translates minor numbers. Codes as those of process_environ. */
int process_views(gpumap_request *request, const char *pid, const gpumap_inventory *inventory,
		  gpumap_report *report);

#endif
