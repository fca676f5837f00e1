/* SPDX-License-Identifier: MIT */
/*
 * The segment of shared memory in which processes meet, /dev/shm/gpumap-train-UID-NAME until all
 * have joined, or those that joined have left. Locks on its bytes show which processes live, since
 * the kernel releases them however a process ends. There is one for all members, without which the
 * segment belongs to a killed run, one for each rank, and one for the writer of the reason of a
 * failure. A process that opens a segment removes those of this user's other killed runs.
 */
#ifndef TRAIN_COLLECTIVE_SHM_SEGMENT_H
#define TRAIN_COLLECTIVE_SHM_SEGMENT_H

#include "collective/shm_control_block.h"

/* The locked bytes: to check whether it is in use; of its users; of each rank; of the writer of the
 * reason. */
enum {
	SHM_LOCK_DOOR,
	SHM_LOCK_MEMBERS,
	SHM_LOCK_RANKS,
	SHM_LOCK_REASON = SHM_LOCK_RANKS + SHM_MAX_RANKS
};

/* Sets the lock of a byte (F_WRLCK, F_RDLCK, F_UNLCK); false: another has it. */
bool shm_try_lock(int fd, short type, int at);
/* By another process: a process does not see its own. */
bool shm_locked(int fd, int at);

/* Creates it, or joins the one of another rank. Plan it before. False if the run has failed. */
bool shm_segment_open(struct rendezvous *rendezvous, struct train_error *error);

/* From here on this process is the rank. */
bool shm_segment_enter(struct rendezvous *rendezvous, int rank, struct train_error *error);
void shm_segment_leave(struct rendezvous *rendezvous, int rank);
/* Whether the process of a rank is still running. */
bool shm_segment_lives(const struct rendezvous *rendezvous, int rank);

/* Begins or ends writing the reason of a failure. Begin is false while another process writes. */
bool shm_segment_reason(const struct rendezvous *rendezvous, bool begin);

/* This rank fails before all have joined: ranks that join in the next seconds get the reason. */
void shm_segment_linger(struct rendezvous *rendezvous);
/* Closes it, after those seconds or when all have joined; the last process removes its name. */
void shm_segment_close(struct rendezvous *rendezvous);

/* Makes room in the segment and maps it; releases the map's previous room. */
bool shm_segment_grow(struct rendezvous *rendezvous, struct shm_map *map, size_t bytes,
		      struct train_error *error);
/* Maps the room that another process has made. */
bool shm_segment_map(struct rendezvous *rendezvous, struct shm_map *map, uint64_t offset,
		     uint64_t capacity, struct train_error *error);
void shm_segment_unmap(struct shm_map *map);

#endif
