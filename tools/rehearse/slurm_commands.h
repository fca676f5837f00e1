/* SPDX-License-Identifier: MIT */
/* Commands of Slurm as a rehearsal has them. Each returns its exit status. */
#ifndef GM_SLURM_COMMANDS_H
#define GM_SLURM_COMMANDS_H

/* slurm_sbatch.c: becomes the interpreter of the batch script, in a job of its own. */
int rehearse_sbatch(int argc, char **argv);
/* slurm_srun.c: starts the tasks of a step, in the job or of its own, and waits for them. */
int rehearse_srun(int argc, char **argv);
/* slurm_scontrol.c: show hostnames. */
int rehearse_scontrol(int argc, char **argv);

#endif
