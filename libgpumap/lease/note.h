/* SPDX-License-Identifier: MIT */
/* What a lease tells others about its end: a file note-PID-START in the folder, of the process that
 * took the lease. The locks decide who has a GPU; the end decides which jobs may go before others.
 */
#ifndef GM_LEASE_NOTE_H
#define GM_LEASE_NOTE_H

#include "gpumap.h"

#include "base.h"

struct lease_folder;

struct lease_note {
	int64_t end_ms;  /* by lease_note_now(); -1: it has no end */
	int64_t idle_ms; /* how long its GPUs may have no load; -1: without limit */
};

/* Milliseconds since the start of the machine, which no one can set; also while it sleeps. */
int64_t lease_note_now(void);

/* A note that this process has written; fd -1: there is none. */
struct lease_note_file {
	int fd;     /* open for writing, so that closing it wakes those who wait, and not before */
	char *path; /* absolute */
};

/* Writes the note of the process `owner`. What cannot be written is not shown. */
void lease_note_write(struct lease_note_file *ret, const gpumap_claim *claim, int64_t owner,
		      const struct lease_note *note);
/* Removes it. */
void lease_note_remove(struct lease_note_file *file);

/* Reads the note of the process `owner`, which has no level. False: it has none, another user has
 * written it, or the guard that wrote it has ended. */
bool lease_note_read(struct lease_note *ret, const gpumap_claim *claim, int64_t owner);
bool lease_note_read_in(struct lease_note *ret, const struct lease_folder *folder, int64_t owner);

#endif
