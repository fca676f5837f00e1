/* SPDX-License-Identifier: MIT */
/* See lease_here.h. */
#include "pick/lease_here.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/output.h"
#include "lease/holders.h"
#include "report/report.h"

/* GPUMAP_LEASES names the folder. The addresses of a pretended machine belong to other devices
 * here, so its files of sysfs are in the folder too, and what the administrator of this machine set
 * does not concern it. */
int lease_folders_here(gpumap_claim *claim, gpumap_report *report)
{
	const char *const *envp = (const char *const *)environ;
	const char *folder = environ_nonempty(envp, "GPUMAP_LEASES"), *settings;
	char sysfs[PATH_MAX];
	int r = GPUMAP_OK;

	if (folder)
		r = gpumap_claim_set(claim, "folder", folder, "GPUMAP_LEASES", report);
	if (r != GPUMAP_OK || (!environ_nonempty(envp, "GPUMAP_PRETEND_INVENTORY") &&
			       !environ_nonempty(envp, "GPUMAP_PRETEND_TEXT")))
		return r;
	snprintf(sysfs, sizeof(sysfs), "%s/pretended", folder ? folder : LEASE_OTHER_FOLDER);
	r = gpumap_claim_set(claim, "sysfs", sysfs, NULL, report);
	settings = environ_nonempty(envp, "GPUMAP_PRETEND_SETTINGS");
	return r == GPUMAP_OK
		       ? gpumap_claim_set(claim, "settings", settings ? settings : "", NULL, report)
		       : r;
}

int lease_here(gpumap_claim *claim, gpumap_report *report)
{
	int r = lease_folders_here(claim, report);

	return r == GPUMAP_OK
		       ? gpumap_claim_set_environ(claim, (const char *const *)environ, report)
		       : r;
}

static int report_wait(const char *text, void *data)
{
	if (text)
		fprintf(stderr, "gpumap: waiting: %s\n", text);
	return 0;
}

int lease_take(gpumap_lease **ret, const gpumap_claim *claim, gpumap_report *report)
{
	return gpumap_lease_take(ret, claim, report_wait, NULL, report);
}

int *lease_descriptors(const gpumap_lease *lease)
{
	size_t count = 0;
	int *ret;

	while (gpumap_lease_descriptor(lease, count) >= 0)
		count++;
	ret = calloc(count + 1, sizeof(*ret));
	for (size_t i = 0; ret && i <= count; i++)
		ret[i] = gpumap_lease_descriptor(lease, i);
	return ret;
}
