/* SPDX-License-Identifier: MIT */
/* What srun and sbatch share. */
#ifndef GM_SLURM_H
#define GM_SLURM_H

#include "cpuset.h"
#include "emit/emit.h"

/* Consecutive hosts with the same number of ranks and of GPUs. */
struct slurm_group {
	size_t first, count;
};

/* One group, or the components of a heterogeneous job. */
struct slurm_shape {
	struct slurm_group *groups;
	size_t count;
	bool arbitrary; /* the list of nodes has one entry for each rank */
};
struct slurm_shape slurm_shape(struct emitter *e);
/* CPUs for each rank; 0: the number that Slurm chooses. */
size_t slurm_cpus(struct emitter *e, const struct slurm_group *group);

/* "1-02:30:00"; NULL: no limit. */
const char *slurm_limit(struct emitter *e);

/* srun and its options; in a script some of them are the job's. */
void slurm_put_srun(struct emitter *e, const struct slurm_shape *shape, bool script);
void slurm_variables(struct emit_variables *variables, struct emitter *e);
void slurm_remarks(struct emitter *e);

#endif
