/* SPDX-License-Identifier: MIT */
/* Where values come from, if that decides what they mean: variables of Slurm, nvidia-smi. */
#include "lint/shell_script.h"

const char source_devices[] = "nvidia-smi";
const char source_array_sum[] = "SLURM_ARRAY_TASK_ID";
const char source_host[] = "hostname";

/* Those of tasks come first. */
static const char *const sources[] = {"SLURM_PROCID",         "SLURM_NODEID",
				      "SLURM_LOCALID",        "SLURM_GPUS_PER_NODE",
				      "SLURM_GPUS",           "SLURM_GPUS_PER_TASK",
				      "SLURM_GPUS_ON_NODE",   "SLURM_NTASKS_PER_NODE",
				      "SLURM_TASKS_PER_NODE", "SLURM_NTASKS",
				      "SLURM_NPROCS",         "SLURM_NNODES",
				      "SLURM_JOB_NUM_NODES",  "SLURM_ARRAY_TASK_ID",
				      "SLURM_JOB_GPUS",       "SLURM_STEP_GPUS"};

enum { TASK_SOURCES = 3 };

const char *source_variable(struct span name)
{
	if (!span_starts(name, "SLURM_"))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (span_is(name, sources[i]))
			return sources[i];
	return NULL;
}

bool is_task_variable(const char *source)
{
	for (size_t i = 0; source && i < TASK_SOURCES; i++)
		if (streq(source, sources[i]))
			return true;
	return false;
}

/* nvidia-smi -L | wc -l, nvidia-smi --query-gpu=name --format=csv,noheader | wc -l */
static bool counts_devices(struct span commands)
{
	commands = span_trim(commands);
	if (!span_starts(commands, "nvidia-smi") || span_has(commands, " -i") ||
	    span_has(commands, "--id") || span_has(commands, "CUDA_VISIBLE"))
		return false;
	return span_has(commands, "--query-gpu=count") ||
	       ((span_has(commands, " -L") || span_has(commands, "--list-gpus") ||
		 span_has(commands, "--query-gpu")) &&
		(span_has(commands, "wc -l") || span_has(commands, "grep -c")));
}

/* hostname, hostname -s, hostname -I | ... */
static bool names_host(struct span commands)
{
	commands = span_trim(commands);
	return span_is(commands, "hostname") || span_starts(commands, "hostname ");
}

const char *source_commands(const struct shell *sh, struct span commands)
{
	if (counts_devices(commands))
		return source_devices;
	/* Outside of srun it is the first node. */
	return sh->in_step && names_host(commands) ? source_host : NULL;
}
