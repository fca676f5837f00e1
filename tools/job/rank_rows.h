/* SPDX-License-Identifier: MIT */
/* Which rank of which launcher this process is, by its environment (rules R1 and R2). */
#ifndef GM_RANK_ROWS_H
#define GM_RANK_ROWS_H

#include "request/rank_identity.h"

/* rank_identity_read() for this process. If another launcher started it inside a rank of gpumap
 * run, that rank's row is left out. GPUMAP_ENOMEM after a finding. */
int rank_rows_read(struct rank_identity rows[RANK_IDENTITY_ROWS], size_t *count,
		   gpumap_report *report);

/* Whether the variable, or the entry NAME=VALUE, is one of the row in rule R1's table. */
bool rank_row_has(const char *row, const char *entry);

/* Whether the row is that of the gpumap run or exec that gave this process its GPUs. */
bool rank_row_is_own(const struct rank_identity *row);

/* Whether Slurm gave each task of a step its own GPUs. */
bool rank_tasks_have_lists(void);

/* Restricts a process that is one of several ranks of a launcher to its own GPU. The i-th host is
 * this machine. It does nothing if the process already has a list or GPUs of its own. */
int rank_rows_limit(gpumap_hosts *hosts, size_t i, gpumap_report *report);

#endif
