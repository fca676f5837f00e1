/* SPDX-License-Identifier: MIT */
/*
 * Ranks under mpirun or srun, on one machine or several, by Open MPI.
 *
 * It is a separate module that is loaded when needed, so the trainer starts on machines without
 * MPI. The module has collective_mpi and, since both must know the same structures,
 * collective_mpi_version, which is the program's.
 *
 * A process has one rank; it calls MPI from one thread at a time (MPI_THREAD_SERIALIZED). The time
 * limit applies while ranks wait for each other in a call or for a message. The error names the
 * late ranks: for half a second waiting ranks answer when they are asked, and late ones do not.
 * mpirun notices a process that is gone, and ends the others. abort ends the processes of all
 * ranks, this one included, with the status of its error and without a message: print the reason
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
