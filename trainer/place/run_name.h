/* SPDX-License-Identifier: MIT */
/* A name that only the ranks of one run on one machine share. */
#ifndef TRAIN_PLACE_RUN_NAME_H
#define TRAIN_PLACE_RUN_NAME_H

#include <stddef.h>

#include "base/error.h"

/*
 * A name of 16 digits [0-9a-f], made from the variables by which LAUNCHER
 * (GPUMAP_IDENTITY_LAUNCHER), or else any launcher, distinguishes runs:
 *
 * 	torch		MASTER_ADDR, MASTER_PORT, TORCHELASTIC_RUN_ID, TORCHELASTIC_RESTART_COUNT
 * 	Open MPI	PMIX_NAMESPACE, or OMPI_MCA_ess_base_jobid
 * 	Slurm step	SLURM_JOB_ID, SLURM_STEP_ID, SLURM_RESTART_COUNT
 * 	Flux		FLUX_JOB_ID
 * 	PALS		PALS_APID
 *
 * Two runs of one user with the same MASTER_ADDR and MASTER_PORT, one after the other, may have one
 * name, so expect remains of a killed run. Bad input if no variable distinguishes runs.
 */
bool run_name(char *name, size_t size, const char *launcher, const char *const *envp,
	      struct train_error *error);

#endif
