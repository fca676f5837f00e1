/* SPDX-License-Identifier: MIT */
/* Processes that concern leases, as those that hold one after the one that took it has ended: they
 * inherited its locks. */
#ifndef GM_LEASE_PEOPLE_H
#define GM_LEASE_PEOPLE_H

#include "gpumap.h"

#include "strbuf.h"

struct json_t;

struct lease_kept {
	gpumap_process *processes; /* ascending */
	size_t count;              /* 0: none is visible here */
};

/* What /proc has about these processes, in the same order. */
void lease_people_read(struct lease_kept *ret, const int64_t *pids, size_t count);
/* Those that hold what `owner` took. */
void lease_kept_read(struct lease_kept *ret, const gpumap_claim *claim, int64_t owner);
void lease_kept_free(struct lease_kept *kept);
struct json_t *lease_kept_json(const struct lease_kept *kept);
/* NULL: null. */
struct json_t *lease_person_json(const gpumap_process *p);

#endif
