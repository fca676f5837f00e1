/* SPDX-License-Identifier: MIT */
/* The limit of GPUs for one user (gpus_per_user of [leases]). */
#ifndef GM_LEASE_PER_USER_H
#define GM_LEASE_PER_USER_H

#include "lease/site_settings.h"
#include "lease/wishes.h"

/* How this job's user stands to the limit. */
struct user_share {
	bool full;      /* the job has to wait for other jobs of its user */
	size_t held;    /* how many GPUs the user has leased */
	size_t waiting; /* how many of the user's jobs wait before this one */
};

/* How many more GPUs the user may have; SIZE_MAX: no limit concerns this process's user. */
size_t per_user_left(const struct user_share *share, const struct lease_settings *settings);
/* Whether a job may have so many GPUs at all. GPUMAP_EINPUT after its error; `what` says of which
 * it is: "4 GPUs are asked for". */
int per_user_check(const struct lease_settings *settings, size_t count, const char *what,
		   const struct about *about, gpumap_report *report);

/* How a job stands that takes `count` GPUs. Takes the jobs that have to wait for others of their
 * user out of the wishes before it, NULL: it does not stand in the queue. They wish for no GPU now.
 * Call it in the gate. GPUMAP_EFILE with errno; GPUMAP_ENOMEM. */
int per_user_look(struct user_share *ret, struct wishes *wishes, size_t count,
		  const struct lease_settings *settings, const struct lease_folder *folder,
		  const gpumap_inventory *units, const struct lease_sight *sights);

/* Appends why it has to wait: "you have leased 2 of at most 2 GPUs (/etc/gpumap/gpumap.ini:4)". */
void per_user_tell(struct strbuf *text, const struct user_share *share,
		   const struct lease_settings *settings);

#endif
