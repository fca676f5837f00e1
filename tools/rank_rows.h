/* SPDX-License-Identifier: MIT */
/* Which rank of which launcher this process is, by its environment (rules R1 and R2). */
#ifndef GM_RANK_ROWS_H
#define GM_RANK_ROWS_H

#include "rankenv.h"

/* As rankenv_read, of this process. Where another launcher has started it inside a rank of gpumap
 * run, that rank's row is left out. GPUMAP_ENOMEM after a finding. */
int rank_rows_read(struct rank_identity rows[RANKENV_ROWS], size_t *count, gpumap_report *report);

/* Whether a row is that of the gpumap run or exec that gave this process its GPUs. */
bool rank_row_is_own(const struct rank_identity *row);

/* Whether Slurm gave each task of a step GPUs of its own. */
bool rank_tasks_have_lists(void);

/* Beside other ranks of a launcher this process takes of the i-th host, which is this machine, its
 * own GPU alone, unless it was given a list or GPUs of its own already. */
int rank_rows_bound(gpumap_hosts *hosts, size_t i, gpumap_report *report);

#endif
