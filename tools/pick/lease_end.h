/* SPDX-License-Identifier: MIT */
/* Leases that end before what holds them: gpumap pick --for TIME, --idle TIME. */
#ifndef GM_LEASE_END_H
#define GM_LEASE_END_H

#include "gpumap.h"

#include "lease/note.h"
#include "pick/gpu_load.h"

struct lease_limits {
	int64_t for_ms, idle_ms;   /* 0: no limit */
	bool longest;              /* for_ms is that of the administrator */
	const gpumap_claim *claim; /* whose folder gets a note of them */
};

/* --- lease_limits.c */

/* Takes --for and --idle, and nothing of another option. GPUMAP_EINPUT after its error. */
int lease_limits_option(struct lease_limits *limits, const char *name, const char *value,
			gpumap_report *report);
/* The name of one that was given; NULL: none. */
const char *lease_limits_given(const struct lease_limits *limits);
/* Adds the limit that the administrator set (longest of [leases]), if this process does not run in
 * a lease. GPUMAP_EINPUT after its error: --for is longer. GPUMAP_ENOMEM. */
int lease_limits_bound(struct lease_limits *limits, gpumap_claim *claim, gpumap_report *report);
/* Whether the load of the GPUs is known, if --idle needs it. GPUMAP_EINPUT after its error. */
int lease_limits_check(const struct lease_limits *limits, const gpumap_lease *lease,
		       gpumap_report *report);

/* A time as options have it; `exact`, or rounded if it is many of a unit. */
enum { LEASE_TIME = 32 };
const char *lease_time(char ret[LEASE_TIME], int64_t ms, bool exact);

/* The watch of a guard over the limits of a lease. */
struct lease_end {
	struct lease_limits limits;
	const gpumap_lease *lease;
	int timer; /* readable when lease_end_look() is due; -1: there is no limit */
	struct lease_note_file note;
	int64_t end_ms;             /* by lease_note_now() */
	int64_t quiet_ms, asked_ms; /* since when there was no load; when it was asked */
	bool warned, warned_idle;
	struct gpu_load load;
};

enum { LEASE_END_TEXT = 192 };

/* Begins the time. `owner` is the process that took the lease. False with errno. */
bool lease_end_begin(struct lease_end *ret, const struct lease_limits *limits,
		     const gpumap_lease *lease, int64_t owner);
/* Looks whether a limit is near or reached. Then the lease is released, and ret->timer is -1.
 * Returns a line to show to the user in `text`, or NULL. */
const char *lease_end_look(struct lease_end *ret, char text[LEASE_END_TEXT]);
/* Ends the watch, and keeps the lease. */
void lease_end_close(struct lease_end *end);

#endif
