/* SPDX-License-Identifier: MIT */
/*
 * What ranks tell each other: a table of operations between the ranks of a run, each with one
 * device. `self` is a world of one; `shm` the ranks of one machine, as threads of one process or as
 * processes; `mpi` ranks anywhere, under mpirun or srun; `peer` the GPUs of one process, by copies
 * between them; `nccl` GPUs anywhere (collective/nccl.h).
 *
 * Every rank makes the same calls in the same order, on one thread at a time. Values lie on the
 * rank's device; on the CPU a call returns when it is done (`waits`), and all others put it on the
 * communicator's stream. Sums are taken in the order of ranks, ((v0 + v1) + v2) + ..., so that a
 * result depends neither on timing nor on how many threads there are, and is the same on all. NCCL
 * adds in the order of its algorithm (a ring or a tree, by size and machine): the result is the
 * same on all ranks, and in every run on the same GPUs with the same library, but it is not that
 * of the order of ranks.
 * `what` names what is sent, for messages: "gradients, bucket 0". It must outlive the call.
 *
 * A rank that fails aborts; then the calls of all others fail with its message, and so they do when
 * one of their processes is gone or does not come within the time limit.
 */
#ifndef TRAIN_COLLECTIVE_H
#define TRAIN_COLLECTIVE_H

#include "backend/backend.h"

struct communicator;
struct rendezvous;

enum { MAX_GATHER = 512 };

/* Where the ranks of a process find each other, made before its threads: what is behind it is the
 * collective's own. */
struct rendezvous_options {
	int world;
	int ranks;        /* of them in this process: 1, or all of them as threads */
	int rank;         /* the one that is this process */
	const char *name; /* shm between processes: one that the ranks of this run have and no
			   * others, at most 200 bytes; NULL: all are in this process */
	int timeout_ms;   /* of waiting for others in one call; 0: for ever */
	int local;        /* of them on this machine; 0: not known */
	bool messages;    /* send and receive will be called */
	/* What all_reduce sends values as, where the collective `rounds`: VALUE_BFLOAT16 halves
	 * what is sent and rounds what is added. */
	enum value_type sums;
	int64_t sum_values; /* that most of them have, at most: more may go in pieces; 0: few */
};

struct collective {
	const char *name;
	bool waits;      /* calls return when they are done, so overlap needs a thread */
	bool on_devices; /* values may lie where the host cannot read them: on GPUs */
	/* Calls between fork and join can be part of a recorded step, if the same calls are so on
	 * all ranks; then all run what they recorded together in the same turn. */
	bool records;
	bool rounds; /* rendezvous_options.sums may be VALUE_BFLOAT16; all others ignore it */

	/* *rendezvous is NULL before. After a failure it may be one that is not whole, since others
	 * wait there: cancel tells them, then leave. */
	bool (*meet)(struct rendezvous **rendezvous, const struct rendezvous_options *options,
		     struct train_error *error);
	void (*leave)(struct rendezvous *rendezvous); /* after all communicators are closed */
	/* A rank of this process fails before it has a communicator: ends the waiting of others,
	 * as abort does. In shared memory leave then waits some seconds for those that have not
	 * come yet, so that they learn it too. */
	void (*cancel)(struct rendezvous *rendezvous, int rank, const struct train_error *why);

	/* By the rank's thread; waits until all ranks are there. *comm is NULL before. After a
	 * failure it may be one that is not whole: to be aborted, which tells the others why, and
	 * then closed. If it is NULL, cancel tells them. */
	bool (*open)(struct communicator **comm, struct rendezvous *rendezvous, int rank,
		     struct device *device, struct train_error *error);
	/* After all recorded steps that have its calls are freed, and before memory that those use.
	 */
	void (*close)(struct communicator *comm);

	/* Between the streams of device and communicator, of collectives that do not wait; NULL of
	 * others. fork: what is asked of the communicator from now on begins when the device has
	 * done what it was asked so far; join: the other way round. collective_fork() and
	 * collective_join() call them where there are any. */
	bool (*fork)(struct communicator *comm, struct train_error *error);
	bool (*join)(struct communicator *comm, struct train_error *error);
	/* A mark as the device's (backend.h), of where the stream is now that sums are on, behind
	 * what was forked; the device's mark_ns knows it. NULL where there is no such stream. */
	int64_t (*mark)(struct communicator *comm);

	/* values[i] becomes the sum over ranks. */
	bool (*all_reduce)(struct communicator *comm, float *values, int64_t count,
			   const char *what, struct train_error *error);
	/* Those of rank `root` to all. */
	bool (*broadcast)(struct communicator *comm, void *values, size_t bytes, int root,
			  const char *what, struct train_error *error);
	/* Host memory: rank r's bytes to all[r * bytes]. With 0 bytes a barrier. */
	bool (*all_gather)(struct communicator *comm, const void *mine, void *all, size_t bytes,
			   const char *what, struct train_error *error);
	/* The same in two parts, for what no step should wait for: begin takes mine, at most
	 * MAX_GATHER bytes, and what is asked of the device later does not wait; end waits. One at
	 * a time; other calls may come between. NULL: all_gather waits for no device. */
	bool (*gather_begin)(struct communicator *comm, const void *mine, size_t bytes,
			     const char *what, struct train_error *error);
	bool (*gather_end)(struct communicator *comm, void *all, struct train_error *error);
	/* One message from this rank to another, of the size that it receives. One in each
	 * direction may be under way before the other takes it: send returns when values may
	 * change. */
	bool (*send)(struct communicator *comm, int to, const void *values, size_t bytes,
		     const char *what, struct train_error *error);
	bool (*receive)(struct communicator *comm, int from, void *values, size_t bytes,
			const char *what, struct train_error *error);

	/* Asked now and then by a rank that waits for something else, such as its device, for so
	 * long and in `where`: false, with the reason, when the run has failed, a rank is gone, or
	 * the time limit is over; then who does not wait likewise is named. NULL: there are no
	 * others. */
	bool (*check)(struct communicator *comm, const char *where, int64_t waited_ns,
		      struct train_error *error);
	/* This rank ends the run, for this reason; where that ends the processes of others too, by
	 * its status. Any thread of it may call it. */
	void (*abort)(struct communicator *comm, const struct train_error *why);
};

/* What is known of every communicator; collectives extend it. */
struct communicator {
	const struct collective *calls;
	int rank, world;
	struct device *device;
	int64_t waited_ns; /* in all: time in which calls waited for other ranks */
};

extern const struct collective collective_self;
extern const struct collective collective_shm;
extern const struct collective collective_peer;
/* Only where it was built: HAVE_CUDA_BACKEND and HAVE_NCCL. */
extern const struct collective collective_nccl;

static inline bool collective_fork(struct communicator *comm, struct train_error *error)
{
	return !comm->calls->fork || comm->calls->fork(comm, error);
}

static inline bool collective_join(struct communicator *comm, struct train_error *error)
{
	return !comm->calls->join || comm->calls->join(comm, error);
}

/* The one called NAME, or NULL with a message that says what there is. mpi is a module that is
 * loaded here and stays, so that a program starts without MPI: see collective/mpi_module.h. */
const struct collective *collective_find(const char *name, struct train_error *error);
const struct collective *collective_mpi_find(struct train_error *error);

#endif
