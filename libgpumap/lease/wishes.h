/* SPDX-License-Identifier: MIT */
/* What the jobs before this one wait for, and what this one asks for. */
#ifndef GM_LEASE_WISHES_H
#define GM_LEASE_WISHES_H

#include "arena.h"
#include "lease/claim.h"

struct wishes {
	struct arena arena; /* has all but the tickets */
	struct lease_ticket *tickets;
	size_t count;               /* of tickets */
	struct lease_wish *list;    /* those of the tickets, then one's own */
	struct lease_sight *sights; /* of each GPU, by the terms of this job */
	struct lease_load *loads;   /* of each GPU, for lease_choose */
	struct lease_chosen chosen; /* room for what lease_choose finds, but `gpus` */
	int64_t *ends;              /* of each GPU (backfill_ends) */
};

/* Reads the tickets below `before`, and looks at the locks of the GPUs. Begins as {0}; free it also
 * after a failure. GPUMAP_EFILE, GPUMAP_EINPUT (the claim's list) and GPUMAP_ENOMEM, after their
 * error. */
int wishes_read(struct wishes *ret, const struct lease_folder *folder, uint64_t before,
		const gpumap_claim *claim, const gpumap_inventory *inventory,
		gpumap_report *report);
void wishes_free(struct wishes *wishes);
/* The job of ticket `i` cannot be served now, whatever is free: it wishes for none of the `gpus`.
 */
void wishes_drop(struct wishes *wishes, size_t i, size_t gpus);
/* One's own wish of a claim for all: what is free, but no more than `most`, and at least one. */
void wishes_ask_for_all(struct wishes *wishes, gpumap_claim *claim, size_t gpus, size_t most);
/* Asks for one less, as some may be promised to others. False: it asks for no less. */
bool wishes_ask_for_fewer(struct wishes *wishes, gpumap_claim *claim);

#endif
