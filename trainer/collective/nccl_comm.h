/* SPDX-License-Identifier: MIT */
/* Shared by the files of collective nccl. */
#ifndef TRAIN_COLLECTIVE_NCCL_COMM_H
#define TRAIN_COLLECTIVE_NCCL_COMM_H

#include <nccl.h>
#include <stdatomic.h>

#include "backend/cuda/cuda.h"
#include "collective/call.h"
#include "collective/nccl.h"

struct rendezvous {
	struct rendezvous_options options;
	struct cuda_calls calls;
	/* The collective through which ranks met; NULL: by NCCL_COMM_ID. */
	const struct collective *control;
	struct rendezvous *control_rendezvous;
	bool placed; /* this process set NCCL_COMM_ID */
};

/* Messages to higher and to lower ranks must not wait for each other; calls of all ranks use the
 * first. */
enum { NCCL_UP, NCCL_DOWN, NCCL_LANES };

/* The version from which a group can abort several communicators, 2.22.0. */
enum { NCCL_GROUP_ABORT = 22200 };

/* A communicator of NCCL and its stream. */
struct nccl_lane {
	ncclComm_t comm;
	cudaStream_t stream;
	cudaEvent_t done; /* the work that join waits for */
	bool forked;      /* the stream has still to wait for the last fork */
	bool fresh;       /* join has still to wait for `done` */
	bool busy;        /* NCCL has not yet put its last call on the stream */
};

/* Memory on the device that grows, at least twofold. Earlier blocks stay until the end: work in
 * flight uses them, and freeing would wait for it. */
enum { NCCL_OLD = 64 };

struct nccl_room {
	void *memory;
	size_t bytes;
	void *old[NCCL_OLD];
	int olds;
};

/* A gather that has begun, of all ranks, in pinned memory and on the device. With a control
 * communicator it is made when it ends. */
struct nccl_later {
	size_t bytes;
	const char *what;
	unsigned char *host, *staging;
	cudaEvent_t event;
	unsigned char mine[MAX_GATHER];
};

struct nccl_comm {
	struct communicator base;
	struct rendezvous *rendezvous;
	const struct cuda_calls *calls;
	struct cuda_device *device;
	struct communicator *control; /* NULL if the rendezvous has none */
	struct nccl_lane lanes[NCCL_LANES];
	int lane_count;
	cudaEvent_t forked, gathered;
	struct nccl_room *boxes;       /* with messages: the one to each rank, while in flight */
	unsigned char *host, *staging; /* of all_gather: pinned, and on the device */
	struct nccl_later later;
	/* NCCL refused a call because it was recorded. With `reopen` it also refuses all others:
	 * the next call of all ranks opens the lanes anew. */
	bool unrecorded, reopen;
	bool (*open_again)(struct nccl_comm *comm, struct train_error *error);
	struct call doing;      /* the last call */
	struct train_error why; /* of the first failure */
	/* Set by any thread: 1 while the reason is written, 2 when it is complete. */
	atomic_int aborted;
	struct train_error reason;
};

static inline struct nccl_comm *nccl_comm_of(struct communicator *comm)
{
	return (struct nccl_comm *)(void *)comm;
}

/* --- nccl_wait.c */

/* Whether a call succeeded; else false, and the communicator has failed. */
#define NCCL_DO(c, library, name, arguments, error) \
	nccl_done(c, CUDA_LIBRARY_##library, (int)(c)->calls->name arguments, #name, error)
bool nccl_done(struct nccl_comm *comm, enum cuda_library library, int status, const char *call,
	       struct train_error *error);
/* The same for a call of NCCL on a lane. NCCL may continue by itself: the lane is busy then. */
#define NCCL_ASK(c, lane, name, arguments, error) \
	nccl_asked(c, lane, (c)->calls->name arguments, #name, error)
bool nccl_asked(struct nccl_comm *comm, struct nccl_lane *lane, ncclResult_t status,
		const char *call, struct train_error *error);

/* Fails with *error, as all later calls do. Returns false. close aborts NCCL: by then the others
 * have the reason, and graphs with its operations are freed, for which it would wait. Until then
 * its kernels may stay on the device forever, and only cuda/wait.c may wait for them. */
bool nccl_failed(struct nccl_comm *comm, const struct train_error *error);
/* The same for a call that is not possible: "all-reduce of ...: why". */
bool nccl_refuse(struct nccl_comm *comm, struct train_error *error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* False if the communicator has failed. */
bool nccl_good(struct nccl_comm *comm, struct train_error *error);
/* For struct device_watch: checks NCCL, the control communicator and the time limit. */
bool nccl_watch(void *comm, int64_t waited_ns, struct train_error *error);
/* Waits until NCCL has put all calls on the lane's stream. */
bool nccl_settle(struct nccl_comm *comm, struct nccl_lane *lane, struct train_error *error);
/* Whether NCCL has no failure of the lane. */
bool nccl_lane_good(struct nccl_comm *comm, struct nccl_lane *lane);
/* Ends NCCL's work on the device; no graph may have its operations. */
void nccl_stop(struct nccl_comm *comm);

/* --- nccl_data.c */

/* Begins a call: the lane, or NULL. Its stream waits for what was forked, unless the call has
 * nothing to send: then the stream has no work that joins it again to a recording. */
struct nccl_lane *nccl_begin(struct nccl_comm *comm, int lane, const struct call *call,
			     struct train_error *error);
/* The same for host memory, which need not wait for what was forked. */
struct nccl_lane *nccl_begin_beside(struct nccl_comm *comm, int lane, const struct call *call,
				    struct train_error *error);
/* join waits for the work on the stream so far. */
bool nccl_end(struct nccl_comm *comm, struct nccl_lane *lane, struct train_error *error);
/* Fails while a step is recorded, for calls that cannot be. */
bool nccl_not_recorded(struct nccl_comm *comm, const char *why, struct train_error *error);
/* Room for so many bytes; it does not grow while a step is recorded. */
bool nccl_room(struct nccl_comm *comm, struct nccl_room *room, size_t bytes, const char *what,
	       struct train_error *error);
void nccl_room_free(struct nccl_comm *comm, struct nccl_room *room);

bool nccl_fork(struct communicator *comm, struct train_error *error);
bool nccl_join(struct communicator *comm, struct train_error *error);
int64_t nccl_mark(struct communicator *comm);
/* For struct collective. */
bool nccl_recorded(struct communicator *comm, const struct train_error *why, bool *all,
		   struct train_error *error);
bool nccl_all_reduce(struct communicator *comm, float *values, int64_t count, const char *what,
		     struct train_error *error);
bool nccl_broadcast(struct communicator *comm, void *values, size_t bytes, int root,
		    const char *what, struct train_error *error);

bool nccl_all_gather_values(struct communicator *comm, const void *mine, void *all, size_t bytes,
			    const char *what, struct train_error *error);

/* --- nccl_gather.c */

/* All memory of gathers. Allocating while they are in flight would wait for them, without the
 * watcher. */
bool nccl_gather_open(struct nccl_comm *comm, struct train_error *error);
bool nccl_all_gather(struct communicator *comm, const void *mine, void *all, size_t bytes,
		     const char *what, struct train_error *error);
bool nccl_gather_begin(struct communicator *comm, const void *mine, size_t bytes, const char *what,
		       struct train_error *error);
bool nccl_gather_end(struct communicator *comm, void *all, struct train_error *error);

/* --- nccl_p2p.c */

bool nccl_send(struct communicator *comm, int to, const void *values, size_t bytes,
	       const char *what, struct train_error *error);
bool nccl_receive(struct communicator *comm, int from, void *values, size_t bytes, const char *what,
		  struct train_error *error);

#endif
