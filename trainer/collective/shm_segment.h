/* SPDX-License-Identifier: MIT */
/*
 * The segment of shared memory in which processes meet, /dev/shm/gpumap-train-UID-NAME until all
 * have joined, or those who did have left. Locks on its bytes tell who lives, since the kernel
 * releases them however a process ends: one of all members, without which the segment is what a
 * killed run left behind, one of each rank, and one of who writes why the run fails. Who opens a
 * segment removes those that this user's other killed runs left.
 */
#ifndef TRAIN_COLLECTIVE_SHM_SEGMENT_H
#define TRAIN_COLLECTIVE_SHM_SEGMENT_H

#include "collective/shm_control_block.h"

/* Bytes that are locked, by who: looks whether it is in use; uses it; is a rank; writes why. */
enum {
	SHM_LOCK_DOOR,
	SHM_LOCK_MEMBERS,
	SHM_LOCK_RANKS,
	SHM_LOCK_REASON = SHM_LOCK_RANKS + SHM_MAX_RANKS
};

/* Sets the lock of a byte (F_WRLCK, F_RDLCK, F_UNLCK); false: another has it. */
bool shm_try_lock(int fd, short type, int at);
/* By another: who asks does not see its own. */
bool shm_locked(int fd, int at);

/* Creates it, or joins what another rank created; planned before. False if the run has failed. */
bool shm_segment_open(struct rendezvous *rendezvous, struct train_error *error);

/* This process is the rank from here on. */
bool shm_segment_enter(struct rendezvous *rendezvous, int rank, struct train_error *error);
void shm_segment_leave(struct rendezvous *rendezvous, int rank);
/* Whether the process that entered as RANK is still there. */
bool shm_segment_lives(const struct rendezvous *rendezvous, int rank);

/* Begins or ends writing why the run fails. Begin is false while another process writes. */
bool shm_segment_reason(const struct rendezvous *rendezvous, bool begin);

/* This rank fails before all have joined: those that do in the next seconds learn why. */
void shm_segment_linger(struct rendezvous *rendezvous);
/* Closes it, after those seconds or when all have joined; the last one takes its name away. */
void shm_segment_close(struct rendezvous *rendezvous);

/* Makes room in the segment and maps it; the room that the map had before is given back. */
bool shm_segment_grow(struct rendezvous *rendezvous, struct shm_map *map, size_t bytes,
		      struct train_error *error);
/* Maps what another has made. */
bool shm_segment_map(struct rendezvous *rendezvous, struct shm_map *map, uint64_t offset,
		     uint64_t capacity, struct train_error *error);
void shm_segment_unmap(struct shm_map *map);

#endif
