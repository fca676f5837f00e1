/* SPDX-License-Identifier: MIT */
/*
 * The segment of shared memory in which processes meet, /dev/shm/gpumap-train-UID-NAME until all
 * have joined, or those who did have left. Locks on its bytes tell who lives, since the kernel
 * releases them however a process ends: one of all members, without which the segment is what a
 * killed run left behind, and one of each rank. Who opens a segment removes those that this user's
 * other killed runs left.
 */
#ifndef TRAIN_COLLECTIVE_SHM_SEGMENT_H
#define TRAIN_COLLECTIVE_SHM_SEGMENT_H

#include "collective/shm_board.h"

/* Creates it, or joins what another rank created; planned before. False if the run has failed. */
bool shm_segment_open(struct meeting *meeting, struct train_error *error);

/* This process is the rank from here on. */
bool shm_segment_enter(struct meeting *meeting, int rank, struct train_error *error);
void shm_segment_leave(struct meeting *meeting, int rank);
/* Whether the process that entered as RANK is still there. */
bool shm_segment_lives(const struct meeting *meeting, int rank);

/* This rank fails before all have joined: those that do in the next seconds learn why. */
void shm_segment_linger(struct meeting *meeting);
/* Closes it, after those seconds or when all have joined; the last one takes its name away. */
void shm_segment_part(struct meeting *meeting);

/* Makes room in the segment and maps it; the room that the map had before is given back. */
bool shm_segment_grow(struct meeting *meeting, struct shm_map *map, size_t bytes,
		      struct train_error *error);
/* Maps what another has made. */
bool shm_segment_map(struct meeting *meeting, struct shm_map *map, uint64_t offset,
		     uint64_t capacity, struct train_error *error);
void shm_segment_unmap(struct shm_map *map);

#endif
