/* SPDX-License-Identifier: MIT */
/* What an environment shows of the scheduler's job. */
#include "plan/hosts.h"

#include <ctype.h>

/* Variables that a scheduler sets if it granted GPUs: with one of them the visible list is its
 * grant. */
static const char *const grants[] = {
	"SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "SLURM_GPUS_ON_NODE", "PBS_GPUFILE",
	"LSB_GPU_ALLOC",   "FLUX_JOB_ID",    "JSM_NAMESPACE_RANK", "SGE_HGR_gpu",
};

static const char *const jobs[] = {
	"SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID",
};

bool scheduler_grants(const char *const *envp)
{
	for (size_t i = 0; i < ARRAY_SIZE(grants); i++)
		if (environ_nonempty(envp, grants[i]))
			return true;
	return false;
}

bool is_run_name(const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c == '/' || iscntrl((unsigned char)*c))
			return false;
	return *text && !streq(text, ".") && !streq(text, "..");
}

const char *job_of_environ(const char *const *envp)
{
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		const char *job = environ_nonempty(envp, jobs[i]);

		if (job && is_run_name(job))
			return job;
	}
	return NULL;
}
