/* SPDX-License-Identifier: MIT */
/* [env] and [unset]: the variables that gpumap sets itself. */
#include "profile/read_sections.h"

const char *env_section_refuses(struct span name)
{
	static const struct {
		const char *name, *fix;
	} refused[] = {
		{"CUDA_VISIBLE_DEVICES", "set gpus and share in [profile NAME]"},
		{"CUDA_DEVICE_ORDER", "set ids in [profile NAME]"},
		{"MASTER_ADDR", "set master_addr in [profile NAME]"},
		{"MASTER_PORT", "set master_port in [profile NAME]"},
		{"WORLD_SIZE", "set ranks and hosts in [profile NAME]"},
		{"LOCAL_WORLD_SIZE", "set ranks in [profile NAME]"},
	};
	static const char ranks[] =
		"RANK LOCAL_RANK GROUP_RANK NODE_RANK GROUP_WORLD_SIZE ROLE_RANK "
		"ROLE_WORLD_SIZE LOCAL_SIZE CROSS_RANK CROSS_SIZE PMI_RANK PMI_SIZE PMIX_RANK "
		"PMI_LOCAL_RANK PMI_LOCAL_SIZE MPI_LOCALRANKID MPI_LOCALNRANKS PALS_RANKID "
		"PALS_LOCAL_RANKID PALS_NODEID SLURM_PROCID SLURM_LOCALID SLURM_NODEID "
		"SLURM_NTASKS SLURM_STEP_NUM_TASKS FLUX_TASK_RANK FLUX_TASK_LOCAL_ID "
		"FLUX_JOB_SIZE JSM_NAMESPACE_RANK JSM_NAMESPACE_SIZE JSM_NAMESPACE_LOCAL_RANK";

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		if (span_is(name, refused[i].name))
			return refused[i].fix;
	if (span_is_any(name, ranks) || span_starts_any(name, "OMPI_COMM_WORLD_ MV2_COMM_WORLD_"))
		return "leave it out: gpumap sets it for each rank";
	return NULL;
}
