/* SPDX-License-Identifier: MIT */
/*
 * Ranks under mpirun or srun, on one machine or several, by Open MPI.
 *
 * It is a module of its own, loaded when it is asked for: the trainer starts on machines without
 * MPI. The module has collective_mpi and, since both must know the same structures,
 * collective_mpi_version, which is the program's.
 *
 * A process has one rank; it calls MPI from one thread at a time (MPI_THREAD_SERIALIZED). The time
 * limit is kept while ranks come to a call and wait for messages, and who is late is named: those
 * who wait answer for half a second when they are asked, and the others do not. A process that is
 * gone is mpirun's to notice, which ends the others. abort ends the processes of all ranks, this
 * one included, by the status of its error, and tells nobody why: the caller has printed the reason
 * before. It waits a second at most for calls of other threads.
 */
#ifndef TRAIN_COLLECTIVE_MPI_MODULE_H
#define TRAIN_COLLECTIVE_MPI_MODULE_H

#include "collective/collective.h"

#define COLLECTIVE_MPI_MODULE "gpumap-mpi.so"
#define COLLECTIVE_MPI_EXPORT __attribute__((visibility("default")))

extern COLLECTIVE_MPI_EXPORT const struct collective collective_mpi;
extern COLLECTIVE_MPI_EXPORT const char collective_mpi_version[];

#endif
