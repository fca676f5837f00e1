/* SPDX-License-Identifier: MIT */
/*
 * The administrator's log of leases: a line for each that is taken, and for each that ends.
 *
 *	TIME EVENT USER PID GPUS
 *	2026-11-26T13:08:08Z taken jo 4711 0,1
 *	2026-11-26T15:10:44Z time-over jo 4711 0,1
 *
 * One write(2) appends a line. The users write it themselves, so it has what they permit.
 */
#ifndef GM_LEASE_LOG_H
#define GM_LEASE_LOG_H

#include "lease/lease.h"
#include "lease/site_settings.h"

#define LOG_TAKEN "taken"
#define LOG_ENDED "ended"
#define LOG_TIME_OVER "time-over"
#define LOG_IDLE "idle"
#define LOG_REVOKED "revoked"

/* Writes the line of a lease that this process took, of `slots`, and keeps in the lease what the
 * line of its end needs. If the log cannot be written, a remark says so. GPUMAP_ENOMEM. */
int lease_log_taken(gpumap_lease *lease, const struct lease_settings *settings, size_t slots,
		    gpumap_report *report);
/* Writes the line of its end. */
void lease_log_end(const gpumap_lease *lease, const char *event);

/* Before the descriptors of a lease are closed, and after: if no other process has them, it has
 * ended. */
int lease_log_before_close(const gpumap_lease *lease);
void lease_log_after_close(const gpumap_lease *lease, int watch);
/* Where processes share a lease, one of them sees to its end: it ends when that one closes it, and
 * the others write no line. */
void lease_log_see_to_end(gpumap_lease *lease);
void lease_log_leave_end(gpumap_lease *lease);

/* Writes that the lease of the process `owner` was revoked; `gpus` marks its units, of `slots`. */
void lease_log_revoked(const struct lease_settings *settings, const gpumap_inventory *units,
		       const bool *gpus, size_t slots, int64_t owner);

#endif
