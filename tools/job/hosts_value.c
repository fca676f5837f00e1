/* SPDX-License-Identifier: MIT */
/* The hosts that `hosts` names: a list, those of a file, or of the Slurm job. */
#include "job/host_finder.h"

#include "plan/job.h"
#include "readfile.h"
#include "report/report.h"

enum { MAX_HOSTFILE = 16 << 20 };

static int add_file(struct finder *f, const char *path)
{
	CLEANUP_FREE char *text = NULL;
	size_t size;
	int error = read_file(path, true, MAX_HOSTFILE, &text, &size);

	if (error)
		return report_read(f->report, error, path, "the hostfile", MAX_HOSTFILE, NULL);
	return gpumap_hosts_parse_hostfile(f->ret->hosts, text, size, path, f->report);
}

static int add_slurm(struct finder *f)
{
	static const char *const names[] = {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST",
					    "SLURM_NODELIST"};
	size_t i = finder_variable("SLURM_PROCID") ? 0 : 1;

	for (; i < ARRAY_SIZE(names); i++)
		if (finder_variable(names[i]))
			return gpumap_hosts_parse_list(f->ret->hosts, finder_variable(names[i]),
						       names[i], f->report);
	return report_fail(f->report, GPUMAP_EINPUT, FINDING_BAD_HOSTS,
			   ABOUT(.origin = finder_origin(f, "hosts"), .speech = &f->speech,
				 .fix = "run it inside a job, or name the hosts"),
			   SETTING("hosts = slurm") ", but SLURM_JOB_NODELIST is not set");
}

int finder_add_hosts(struct finder *f)
{
	const char *hosts = finder_value(f, "hosts");
	struct key_value value = key_value(PKEY_PROFILE_hosts, hosts);

	if (value.word == PLAN_HOSTS_FILE)
		return add_file(f, value.text.text);
	if (value.word == PLAN_HOSTS_SLURM)
		return add_slurm(f);
	return gpumap_hosts_parse_list(f->ret->hosts, hosts, finder_origin(f, "hosts"), f->report);
}
