/* SPDX-License-Identifier: MIT */
#ifndef GM_PYTHON_PLAN_HOSTS_H
#define GM_PYTHON_PLAN_HOSTS_H

#include "gpumap.h"

struct python_hosts {
	gpumap_hosts *hosts;
	size_t count;
	size_t here;                    /* the one that is this machine; `count`: none is */
	gpumap_inventory **inventories; /* of each host; NULL: not opened for it */
	char **names;                   /* of their machines */
};

/* Finds the hosts that the profile names; this host if it names none. `all` is the machine of all
 * of them; NULL: the profile names their machines. `envp` is the environment in which the ranks of
 * the first start; NULL: it is not known. Free `h`, which must be zero, in any case. It may read
 * files and NVML. */
int python_hosts_open(struct python_hosts *h, const gpumap_profile *profile,
		      const gpumap_inventory *all, const char *const *envp, gpumap_report *report);
void python_hosts_free(struct python_hosts *h);

/* gpumap_inventory_open(), but never from standard input. */
int python_machine_open(gpumap_inventory **ret, const char *what, gpumap_report *report);
/* GPUMAP_EINPUT after its error if `path` is standard input for the library. */
int python_file_given(const char *path, gpumap_report *report);

#endif
