/* SPDX-License-Identifier: MIT */
/*
 * Ranks that are GPUs, by NCCL: threads of one process or processes, on one machine or several.
 *
 * Bootstrap. Ranks of one machine meet through shared memory, and ranks that mpirun started without
 * MASTER_ADDR through MPI; rank 0 makes NCCL's id there and gives it to all. Other ranks take it
 * from NCCL_COMM_ID, which is made from MASTER_ADDR and MASTER_PORT unless it is set; rank 0
 * listens at that address. The shared memory or MPI stays in use: it gathers host memory, brings
 * the reason of a rank that fails to the others, and notices when a process is gone. Ranks that
 * have only NCCL_COMM_ID notice a failure by NCCL's own errors or by the time limit.
 *
 * Streams. A communicator has a stream of high priority of its own; fork and join order it and the
 * device's by events, so that what lies between them can be captured in a graph (in all ranks, and
 * by one process per GPU: NCCL warns of deadlocks where one process captures for several). Captured
 * and other calls alternate, so NCCL_GRAPH_MIXING_SUPPORT=0 is rejected there; buffers that NCCL
 * registers for a graph are released with it (NCCL_GRAPH_REGISTER). all_gather takes host memory:
 * it waits, and cannot be captured. With `messages` there are two communicators of NCCL, one for
 * messages to higher ranks and one for those to lower: a message is copied before join, and waits
 * for its receiver while the device continues. In each direction a rank's messages, sent and
 * received, go in the order of its calls; so neighbours in a line, such as stages, may all send
 * first, but ranks in a ring must not.
 *
 * Time. Calls return when the work is on the stream. NCCL runs in its non-blocking mode, so that
 * connecting to a rank that does not come ends at the time limit; waiting for the device has a
 * watcher (struct device_watch). After a failure all later calls fail with the same reason; close
 * then aborts the communicators of NCCL, which ends their kernels. Other ranks see that as a
 * failure of their own, so they get the reason before. NCCL would wait for graphs that have its
 * operations, so free steps before.
 */
#ifndef TRAIN_COLLECTIVE_NCCL_H
#define TRAIN_COLLECTIVE_NCCL_H

#include "collective/collective.h"

enum { NCCL_PLACE_TEXT = 300 };

/*
 * Where ranks of several machines meet, in the form of NCCL_COMM_ID: "ADDRESS:PORT", with brackets
 * around an address of IPv6. NCCL_COMM_ID itself if it is set, else from MASTER_ADDR and
 * MASTER_PORT. If torchrun itself listens at that port (TORCHELASTIC_USE_AGENT_STORE=True), it is
 * the next port. Bad input: an invalid port, or one variable without the other. *found: whether
 * either is set.
 */
bool nccl_place(char *text, size_t size, bool *found, const char *const *envp,
		struct train_error *error);
/* Whether mpirun or srun with MPI started this process, by the variables that they set. */
bool nccl_has_mpi(const char *const *envp);

#endif
