/* SPDX-License-Identifier: MIT */
/*
 * Collectives: a table of operations between the ranks of a run, each with one device. `self` is a
 * world of one; `shm` the ranks of one machine, as threads of one process or as processes; `mpi`
 * ranks anywhere, under mpirun or srun; `peer` the GPUs of one process, by copies between them;
 * `nccl` GPUs anywhere (collective/nccl.h).
 *
 * Every rank makes the same calls in the same order, on one thread at a time. Values lie on the
 * rank's device. CPU collectives return when the call is done (`waits`); others put it on the
 * communicator's stream. Sums are taken in the order of ranks, ((v0 + v1) + v2) + ..., so the
 * result does not depend on timing or threads, and is the same on all ranks. NCCL adds in the order
 * of its algorithm (a ring or a tree, by size and machine): its result is the same on all ranks,
 * and in every run on the same GPUs with the same library, but may differ from the sum in the order
 * of ranks. `what` names what is sent, for messages: "gradients, bucket 0". It must outlive the
 * call.
 *
 * A rank that fails calls abort; then the calls of all other ranks fail with its message. They also
 * fail when a process is gone or does not come within the time limit.
 */
#ifndef TRAIN_COLLECTIVE_H
#define TRAIN_COLLECTIVE_H

#include <stdlib.h>

#include "backend/backend.h"
#include "memory.h"

struct communicator;
/* Where the ranks of a process meet, created before its threads. Each collective extends it. */
struct rendezvous;

enum { MAX_GATHER = 512 };

/* How the ranks of a run meet. */
struct rendezvous_options {
	int world;
	int ranks;        /* how many in this process: 1, or all, as threads */
	int rank;         /* the rank that is this process */
	const char *name; /* shm between processes: a name that only the ranks of this run have, at
			     most 200 bytes; NULL: all are in this process */
	int timeout_ms;   /* limit of waiting for others in one call; 0: none */
	int local;        /* their number on this machine; 0: not known */
	bool messages;    /* send and receive will be called */
};

struct collective {
	const char *name;
	bool waits;      /* calls return when they are done, so overlap needs a thread */
	bool on_devices; /* values may lie where the host cannot read them: on GPUs */
	/* Calls between fork and join can be part of a recorded step, if every rank records them;
	 * all ranks then run their recorded calls in the same order. */
	bool records;
	/* All ranks call it after they have recorded a step with calls of the communicator; `why`
	 * is this rank's failure, or NULL. *all: each rank has a recording. Otherwise none may be
	 * run; free all recordings with the communicator's calls, and record no more of them:
	 * without being recorded the calls work as before. False, with the reason: this rank failed
	 * for a reason that is not that its calls cannot be recorded. NULL if they always can. */
	bool (*recorded)(struct communicator *comm, const struct train_error *why, bool *all,
			 struct train_error *error);

	/* Set *rendezvous to NULL first. After a failure it may be incomplete while others wait
	 * there: notify them with cancel, then leave. */
	bool (*meet)(struct rendezvous **rendezvous, const struct rendezvous_options *options,
		     struct train_error *error);
	void (*leave)(struct rendezvous *rendezvous); /* after all communicators are closed */
	/* For a rank of this process that fails before it has a communicator: ends the waiting of
	 * others, as abort does. With shm, leave() then waits some seconds for ranks that have
	 * not come yet, so that they get the reason too. */
	void (*cancel)(struct rendezvous *rendezvous, int rank, const struct train_error *why);

	/* Called by the rank's thread; waits until all ranks are there. Set *comm to NULL first.
	 * After a failure it may be incomplete: call abort, which gives the others the reason, and
	 * then close it. If it is NULL, use cancel. */
	bool (*open)(struct communicator **comm, struct rendezvous *rendezvous, int rank,
		     struct device *device, struct train_error *error);
	/* Call it after recorded steps with its calls are freed, before their memory is freed. */
	void (*close)(struct communicator *comm);

	/* Order the streams of device and communicator, in collectives that do not wait; else NULL.
	 * fork: later calls of the communicator begin after the device's work so far; join: the
	 * other way round. collective_fork() and collective_join() call them if they exist. */
	bool (*fork)(struct communicator *comm, struct train_error *error);
	bool (*join)(struct communicator *comm, struct train_error *error);
	/* A mark like the device's (backend.h) on the stream of the sums, after what was forked;
	 * the device's mark_ns gives its time. NULL if there is no such stream. */
	int64_t (*mark)(struct communicator *comm);

	/* values[i] becomes the sum over ranks. */
	bool (*all_reduce)(struct communicator *comm, float *values, int64_t count,
			   const char *what, struct train_error *error);
	/* The values of rank `root` to all ranks. */
	bool (*broadcast)(struct communicator *comm, void *values, size_t bytes, int root,
			  const char *what, struct train_error *error);
	/* Host memory: rank r's bytes to all[r * bytes]. With 0 bytes a barrier. */
	bool (*all_gather)(struct communicator *comm, const void *mine, void *all, size_t bytes,
			   const char *what, struct train_error *error);
	/* The same for values on the device, in the order of the streams, as all_reduce: no one
	 * waits. `mine` may be rank's place in `all`. */
	bool (*all_gather_values)(struct communicator *comm, const void *mine, void *all,
				  size_t bytes, const char *what, struct train_error *error);
	/* all_gather in two parts, so that no step waits: gather_begin takes mine, at most
	 * MAX_GATHER bytes; neither it nor the device's later work waits. gather_end waits for the
	 * values. One at a time; other calls may come between. NULL if all_gather never waits for
	 * the device. */
	bool (*gather_begin)(struct communicator *comm, const void *mine, size_t bytes,
			     const char *what, struct train_error *error);
	bool (*gather_end)(struct communicator *comm, void *all, struct train_error *error);
	/* One message between two ranks; both give the same size. One in each direction may be in
	 * flight before the other rank takes it; send returns when values can be reused. NULL in
	 * `self`, which has no other rank. */
	bool (*send)(struct communicator *comm, int to, const void *values, size_t bytes,
		     const char *what, struct train_error *error);
	bool (*receive)(struct communicator *comm, int from, void *values, size_t bytes,
			const char *what, struct train_error *error);

	/* Called now and then by a rank that waits for something else, such as its device, with the
	 * time and `where` it waits. False, with the reason: the run has failed, a rank is gone, or
	 * the time limit is over; after the time limit the message names the ranks that do not
	 * wait. NULL: there are no other ranks. */
	bool (*check)(struct communicator *comm, const char *where, int64_t waited_ns,
		      struct train_error *error);
	/* Ends the run for this reason. If that also ends others' processes, they exit with the
	 * status of `why`. Any thread of the rank may call it. */
	void (*abort)(struct communicator *comm, const struct train_error *why);
};

/* The common part of communicators; collectives extend it. */
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

/* all_gather() into memory that the caller frees; NULL: it failed. */
static inline void *gather_all(struct communicator *comm, const void *mine, size_t bytes,
			       const char *what, struct train_error *error)
{
	void *all = xmalloc((size_t)comm->world * bytes);

	if (comm->calls->all_gather(comm, mine, all, bytes, what, error))
		return all;
	free(all);
	return NULL;
}

/* The collective called NAME, or NULL with a message that lists them. mpi is a module, so
 * that programs start without MPI; loaded here, it stays: see collective/mpi_module.h. */
const struct collective *collective_find(const char *name, struct train_error *error);
const struct collective *collective_mpi_find(struct train_error *error);

/* The name of the collective that --collective auto takes; `simulated`: the devices are simulated
 * in memory of the host. */
const char *collective_auto(const struct rendezvous_options *options, bool simulated);
/* The collective called NAME, which may be auto, if it supports the devices of the backend; else
 * NULL. */
const struct collective *collective_choose(const char *name,
					   const struct rendezvous_options *options,
					   const char *backend, bool simulated,
					   struct train_error *error);

#endif
