/* SPDX-License-Identifier: MIT */
/* The variables that a statement can be about, and which dialect reads which. */
#include "request/request.h"

static const char *const variables[] = {
	[VARIABLE_CUDA_VISIBLE] = "CUDA_VISIBLE_DEVICES",
	[VARIABLE_CUDA_ORDER] = "CUDA_DEVICE_ORDER",
	[VARIABLE_ROCR_VISIBLE] = "ROCR_VISIBLE_DEVICES",
	[VARIABLE_HIP_VISIBLE] = "HIP_VISIBLE_DEVICES",
	[VARIABLE_NVIDIA_VISIBLE] = "NVIDIA_VISIBLE_DEVICES",
	[VARIABLE_SLURM_JOB] = "SLURM_JOB_ID",
	[VARIABLE_SLURM_JOB_GPUS] = "SLURM_JOB_GPUS",
	[VARIABLE_SLURM_STEP_GPUS] = "SLURM_STEP_GPUS",
	[VARIABLE_PET_NNODES] = "PET_NNODES",
	[VARIABLE_KUBERNETES_SERVICE_HOST] = "KUBERNETES_SERVICE_HOST",
#define RANK_VARIABLE(name) [VARIABLE_##name] = #name,
#include "request/ranks.def"
#undef RANK_VARIABLE
};

const char *variable_name(enum variable variable)
{
	return variables[variable];
}

bool variable_find(struct span name, enum variable *variable)
{
	for (size_t i = 0; i < VARIABLE_COUNT; i++) {
		if (span_is(name, variables[i])) {
			*variable = (enum variable)i;
			return true;
		}
	}
	return false;
}

enum variable dialect_variable(enum dialect dialect)
{
	if (dialect == DIALECT_ROCR)
		return VARIABLE_ROCR_VISIBLE;
	return dialect == DIALECT_HIP ? VARIABLE_HIP_VISIBLE : VARIABLE_CUDA_VISIBLE;
}

bool dialect_reads(enum dialect dialect, enum variable variable)
{
	switch (variable) {
	case VARIABLE_CUDA_VISIBLE:
		return dialect != DIALECT_ROCR;
	case VARIABLE_CUDA_ORDER:
		return dialect != DIALECT_ROCR && dialect != DIALECT_HIP;
	case VARIABLE_ROCR_VISIBLE:
		return dialect == DIALECT_ROCR || dialect == DIALECT_HIP;
	case VARIABLE_HIP_VISIBLE:
		return dialect == DIALECT_HIP;
	default:
		return false;
	}
}
