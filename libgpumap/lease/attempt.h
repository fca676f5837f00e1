/* SPDX-License-Identifier: MIT */
/* One attempt to take a lease, in the gate. */
#ifndef GM_LEASE_ATTEMPT_H
#define GM_LEASE_ATTEMPT_H

#include <time.h>

#include "inventory/nvml.h"
#include "lease/claim.h"
#include "lease/per_user.h"
#include "strbuf.h"

/* One attempt, and what is kept between attempts. */
struct taking {
	gpumap_claim *claim; /* a copy; with `all` its count is that of this attempt */
	gpumap_report *report;
	struct lease_folder folder;
	gpumap_lease *lease;
	struct nvml nvml;        /* is kept ready during an attempt */
	int watch, gate, ticket; /* descriptors; -1 */
	uint64_t number;         /* of the ticket */
	char *named;             /* the units in it, separated by blanks; NULL */
	int vain;                /* how often in a row it was woken and found nothing new */
	size_t before;           /* how many jobs before this one wait for its GPUs */
	bool changed;            /* GPUs or MIG instances came, went or were locked meanwhile */
	bool preview;            /* nothing is locked or written, and it does not wait */
	struct strbuf told;      /* what it waits for */
	bool promised;           /* GPUs that are free for it are promised to others */
	struct timespec start;
	struct lease_settings settings; /* none inside a lease */
	struct user_share share;
};

/* Looks, chooses and locks. *got: t->lease is taken. Otherwise t->told has what is missing, and a
 * job that waits is in the queue. GPUMAP_EBUSY: others have the gate. Codes follow their error. */
int taking_try(struct taking *t, bool *got);

/* --- why_waiting.c: what is added to t->told ----------------------------------------------- */

struct wishes;
/* Empties it. */
void tell_nothing(struct taking *t);
/* `sight` is NULL, or how the unit was seen. */
void tell_unit(struct taking *t, const gpumap_device *unit, enum lease_state state,
	       const struct lease_sight *sight);
/* A unit cannot be locked, by errno. */
void tell_not_locked(struct taking *t, const gpumap_device *unit, int why);
/* GPUs or MIG instances came or went since this attempt began. */
void tell_changed(struct taking *t);
/* Which GPUs are not free, and why. GPUMAP_EINPUT, after its error: of so many GPUs it cannot be
 * seen whether they are free that waiting would not help. */
int tell_busy(struct taking *t, const struct wishes *wishes);
/* Whom it waits for. */
void tell_queue(struct taking *t, const struct wishes *wishes);
/* Reports a file of the folder, by errno. */
int taking_failed(const struct taking *t, const char *what);

/* --- own_ticket.c ------------------------------------------------------------------------ */

/* Joins the queue, or adds to the job's ticket the units that came since. */
int own_ticket(struct taking *t, const struct wishes *wishes);

#endif
