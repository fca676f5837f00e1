/* SPDX-License-Identifier: MIT */
/* What a host's ranks inherit: a list, and whose it is (rule S6a); the scheduler's job. */
#include "plan/hosts.h"

static const char *variable(const char *const *envp, const char *name)
{
	size_t length = strlen(name);

	for (; envp && *envp; envp++)
		if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=')
			return *envp + length + 1;
	return NULL;
}

/* Variables that a scheduler sets where it granted GPUs: with one of them the visible list
 * is its grant. */
static const char *const grants[] = {
	"SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "SLURM_GPUS_ON_NODE", "PBS_GPUFILE",
	"LSB_GPU_ALLOC",   "FLUX_JOB_ID",    "JSM_NAMESPACE_RANK", "SGE_HGR_gpu",
};

static const char *const jobs[] = {
	"SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "COBALT_JOBID",
};

static const char *first_of(const char *const *envp, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *value = variable(envp, names[i]);

		if (value && *value)
			return value;
	}
	return NULL;
}

const char *job_of_environ(const char *const *envp)
{
	return first_of(envp, jobs, ARRAY_SIZE(jobs));
}

/* The list's own warnings; what the empty statement of a program means is of no interest. */
static void carry_warnings(const gpumap_report *from, gpumap_report *to)
{
	for (size_t i = 0; i < gpumap_report_count(from); i++) {
		const gpumap_finding *f = gpumap_report_get(from, i);
		const char *rule = gpumap_finding_str(f, GPUMAP_FINDING_RULE);

		if (gpumap_finding_int(f, GPUMAP_FINDING_SEVERITY) == GPUMAP_WARNING && rule &&
		    (*rule == 'V' || *rule == 'S'))
			report_copy(to, f);
	}
}

static int resolve_list(struct known_host *host, const char *const *envp, gpumap_report *report)
{
	gpumap_report *heard = NULL;
	gpumap_request *request = NULL;
	int r = gpumap_report_new(&heard);

	if (r == GPUMAP_OK)
		r = gpumap_request_new(&request);
	if (r == GPUMAP_OK)
		r = gpumap_request_environ(request, envp, heard);
	if (r == GPUMAP_OK)
		r = gpumap_resolve(&host->mapping, request, host->inventory, heard);
	carry_warnings(heard, report);
	gpumap_request_free(request);
	gpumap_report_free(heard);
	return r;
}

/* What of the environment tells the visible list; a rank's or a container's does not. */
static int keep_lists(const char **ret, const char *const *envp)
{
	static const char *const names[] = {"CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER="};
	int count = 0;

	for (; *envp; envp++)
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			if (starts_with(*envp, names[i]) && count < 2)
				ret[count++] = *envp;
	ret[count] = NULL;
	return count;
}

EXPORT int gpumap_hosts_environ(gpumap_hosts *hosts, size_t i, const char *const *envp,
				gpumap_report *report)
{
	struct known_host *host = i < hosts->count ? &hosts->hosts[i] : NULL;
	const char *job = job_of_environ(envp), *lists[3];
	bool granted = first_of(envp, grants, ARRAY_SIZE(grants));
	int r = GPUMAP_OK;

	if (!host)
		return GPUMAP_OK;
	host->job = arena_strdup(&hosts->arena, job);
	gpumap_mapping_free(host->mapping);
	host->mapping = NULL;
	if (variable(envp, "CUDA_VISIBLE_DEVICES") && host->inventory && keep_lists(lists, envp))
		r = resolve_list(host, lists, report);
	if (r != GPUMAP_OK)
		return r == GPUMAP_ENOMEM ? report_nomem(report) : r;
	host->inherited = (struct plan_inherited){
		.kind = granted ? PLAN_BOUND_SCHEDULER : PLAN_BOUND_USER,
		.mapping = host->mapping,
		.origin = granted && job ? arena_printf(&hosts->arena, "job %s", job)
					 : "CUDA_VISIBLE_DEVICES",
	};
	return hosts->arena.failed ? report_nomem(report) : GPUMAP_OK;
}
