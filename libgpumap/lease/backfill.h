/* SPDX-License-Identifier: MIT */
/* Backfill: a job whose lease ends in time may take GPUs that are promised to others. */
#ifndef GM_LEASE_BACKFILL_H
#define GM_LEASE_BACKFILL_H

#include "lease/lease.h"

/* Between a choice and the begin of the lease, and between its end and the time when the driver
 * shows that its GPUs are free. */
enum { BACKFILL_MARGIN_MS = 10000 };

/* Sets ret[g] to the time at which the leases of a unit end, by lease_note_now(); 0: no lease, or
 * none whose end is known. Call it in the gate. GPUMAP_EFILE with errno; GPUMAP_ENOMEM. */
int backfill_ends(int64_t *ret, const struct lease_folder *folder, const gpumap_inventory *units,
		  const struct lease_sight *sights);
/* The earliest time at which the job of a wish can be served, if no lease ends before its time; 0:
 * perhaps at any moment. */
int64_t backfill_ready(const struct lease_wish *wish, const struct lease_sight *sights,
		       const int64_t *ends, size_t units);
/* Whether the lease of `own` has ended when the job of `waiting`, which cannot be served now, can
 * be. A lease of slots does not fit: others could follow beside it, whose leases last longer. */
bool backfill_fits(const struct lease_wish *own, const struct lease_wish *waiting);

#endif
