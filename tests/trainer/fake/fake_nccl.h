/* SPDX-License-Identifier: MIT */
/* NCCL among the threads of a process: the ranks that have joined, and their work on streams. */
#ifndef TEST_FAKE_NCCL_H
#define TEST_FAKE_NCCL_H

#include "fake_cuda_private.h"

enum { NCCL_MAX_RANKS = 16 };

enum nccl_kind { NCCL_ALL_REDUCE, NCCL_BROADCAST, NCCL_ALL_GATHER, NCCL_SEND, NCCL_RECEIVE };

struct nccl_op {
	enum nccl_kind kind;
	const void *from;
	void *to;
	size_t count;
	ncclDataType_t type;
	ncclRedOp_t operation;
	int peer; /* or root */
};

/* The data of a piece of work: one call, or those of a group on one communicator. */
struct nccl_item {
	struct ncclComm *comm;
	bool done;
	uint64_t turn; /* its number among the communicator's calls */
	int captured;  /* the number of its capture among those of the communicator; 0: none */
	int count;
	struct nccl_op ops[];
};

struct nccl_world {
	struct nccl_world *next;
	ncclUniqueId id;
	int ranks, joined;
	bool refused; /* two ranks on one GPU */
	bool aborted;
	struct ncclComm *members[NCCL_MAX_RANKS];
};

struct ncclComm {
	struct object object;
	struct nccl_world *world;
	int rank;
	bool blocking, asked_once, aborted, finalized;
	ncclResult_t async;
	bool broken;        /* it refuses all calls */
	int captures;       /* calls that graphs took */
	uint64_t put, run;  /* calls that were put on streams, and of them those that were done */
	struct work *first; /* that its streams have reached */
};

size_t nccl_bytes(ncclDataType_t type); /* 0: none that is pretended */

/* The communicator whose call it is; NULL: it is no call of NCCL. */
struct ncclComm *nccl_whose(const struct work *work);

/* Whether streams have work of it. */
bool nccl_pending(const struct ncclComm *comm);
/* What a call that ends a communicator would wait for. */
void nccl_check_graphs(const struct ncclComm *comm, const char *call);
void nccl_check_end(const struct ncclComm *comm, const char *call);

/* Puts them on the stream as one. The name is that of the first call. */
ncclResult_t nccl_put(struct ncclComm *comm, const struct nccl_op *ops, int count,
		      cudaStream_t stream, const char *call);

#endif
