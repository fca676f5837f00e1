/* SPDX-License-Identifier: MIT */
/* Plans that can be started, from profiles, hosts and environments as text. */
#ifndef GM_TEST_JOBS_H
#define GM_TEST_JOBS_H

#include "plan/job.h"

enum { JOB_HOSTS = 8 };

struct job_scene {
	gpumap_profile *profile;
	gpumap_hosts *hosts;
	gpumap_inventory *inventories[JOB_HOSTS];
	size_t inventory_count;
	char *environ_text;
	const char *environ[32]; /* ended by NULL */
	gpumap_report *report;
	gpumap_plan *plan; /* NULL: it could not be made */
	int code;
};

/*
 * files: as load_files of profiles.h. hosts: "LIST=MACHINE" between " + ", machines as
 * plan_machine of plans.h, or "@MACHINE " and a hostfile. environment: "NAME=VALUE" between
 * semicolons; "NODE!" before it is the node that has it, else it is node 0.
 */
void job_set(struct job_scene *scene, const char *files, const char *hosts,
	     const char *environment);
/* Makes the plan of a scene that was set. */
void job_plan(struct job_scene *scene);
void job_free(struct job_scene *scene);

/*
 * Checks that every term, of those between bars, holds of the plan:
 *	answered= world= hosts= port= addr= run= mode= profile=
 *	R.ATTR=VALUE	of rank R: host visible uuid pci name cpus memory node local size gpu mig
 *			logical threads
 *	R$NAME=VALUE	a variable; R$NAME- it is unset; R$NAME! the plan leaves it alone
 *	R:KEY=VALUE	a setting, expanded
 *	R>WORDS		the arguments, in < and >
 */
void job_holds(const char *name, const gpumap_plan *plan, const char *const *envp,
	       const char *terms);

#endif
