/* SPDX-License-Identifier: MIT */
/*
 * Ranks that are GPUs, by NCCL: threads of one process or processes, on one machine or several.
 *
 * Bootstrap. Ranks of one machine meet through shared memory, and ranks that mpirun started without
 * MASTER_ADDR through MPI; rank 0 makes NCCL's id there and gives it to all. All others take it
 * from NCCL_COMM_ID, which is made of MASTER_ADDR and MASTER_PORT unless it is set: rank 0 listens
 * at that address. What they met through stays: host memory is gathered through it, a rank that
 * fails tells the others its reason there, and it knows when a process is gone. Ranks that have
 * only NCCL_COMM_ID learn of a failure by NCCL's own errors or by the time limit.
 *
 * Streams. A communicator has a stream of high priority of its own; fork and join order it and the
 * device's by events, so that what lies between them can be captured in a graph (in all ranks, and
 * by one process per GPU: NCCL warns of deadlocks where one process captures for several). Captured
 * calls and others take turns, so NCCL_GRAPH_MIXING_SUPPORT=0 is refused there; buffers
 * that it registers for a graph are released with that (NCCL_GRAPH_REGISTER). all_gather is of host
 * memory: it waits, and cannot be captured. With `messages` there are two communicators of NCCL,
 * one for messages to higher ranks and one for those to lower: a message is copied before join's
 * time comes, and waits for its receiver beside what the device does next. In each direction a
 * rank's messages, sent and received, go in the order of its calls; so neighbours in a line, as
 * stages are, may all send first, but ranks in a ring may not.
 *
 * Time. Calls return when the work is on the stream. NCCL is asked in its non-blocking mode, so
 * that connecting to a rank that does not come ends by the time limit; waiting for the device is
 * watched (struct device_watch). After a failure all later calls fail with the same reason; close
 * then aborts the communicators of NCCL, which ends their kernels. Others see that as a failure of
 * theirs, so they are told the reason before; and NCCL would wait for graphs that have its
 * operations, so steps are freed before.
 */
#ifndef TRAIN_COLLECTIVE_NCCL_H
#define TRAIN_COLLECTIVE_NCCL_H

#include "collective/collective.h"

enum { NCCL_PLACE_TEXT = 300 };

/*
 * Where ranks of several machines find each other, as NCCL_COMM_ID has it: "ADDRESS:PORT", with
 * brackets around an address of IPv6. NCCL_COMM_ID itself where it is set; else of MASTER_ADDR and
 * MASTER_PORT. Where torchrun listens at that port itself (TORCHELASTIC_USE_AGENT_STORE=True) it is
 * the next one. Bad input: an invalid port, or one variable without the other. *found: whether
 * there is a place at all.
 */
bool nccl_place(char *text, size_t size, bool *found, const char *const *envp,
		struct train_error *error);
/* Whether mpirun or srun with MPI started this process, by the variables that they set. */
bool nccl_has_mpi(const char *const *envp);

#endif
