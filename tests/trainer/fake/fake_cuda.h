/* SPDX-License-Identifier: MIT */
/*
 * CUDA, cuDNN, cuBLASLt, NCCL and the project's kernels on the CPU: the table of
 * backend/cuda/calls.h for programs that test what is behind it without a GPU. A program that links
 * fake_cuda_load.c gets it from cuda_calls_load().
 *
 * GPUs are pretended. Each has memory of its own, found again by its address, which the host may
 * read but should not. Streams keep their order and nothing else; work is done when it is put on
 * one, or as late as possible (`late`), which finds hosts that do not wait. Ranks of NCCL are
 * threads of this process. Values are rounded where they are stored, sums are floats.
 *
 * What a library would refuse is refused with its status. What it would not notice, or would crash
 * of, is a fault: memory of another device, freed, too small or misaligned; memory that two streams
 * use with nothing between them; a call on the wrong device; what is left over in the end. The
 * first is kept, and a test asks for it.
 */
#ifndef TEST_FAKE_CUDA_H
#define TEST_FAKE_CUDA_H

#include "backend/cuda/calls.h"

enum { FAKE_CUDA_DEVICES = 8, FAKE_CUDA_TEXT = 400 };

/* What NCCL makes of calls of a communicator that does not block, on a stream that is captured: it
 * takes them; refuses them; refuses them and, from then on, all others; or calls something from a
 * thread of its own that ends the capture. */
enum fake_captured { FAKE_CAPTURES, FAKE_REFUSES, FAKE_BREAKS, FAKE_SPOILS };

struct fake_cuda_options {
	int devices;         /* 0 to FAKE_CUDA_DEVICES */
	size_t bytes;        /* of each device's memory; 0: 1 GiB */
	bool late;           /* work is done when the host waits for it */
	bool simulated_time; /* events measure the times of the tables alone, not this machine's */
	const char *slow;    /* a kernel that takes a second; NULL: none */
	bool no_peers;       /* devices do not reach each other's memory */
	bool remote_errors;  /* ranks are notified of a communicator's abort, as over a network */
	bool elsewhere;      /* NCCL's other ranks are in other processes, and never answer */
	int nccl;            /* its version; 0: that of nccl.h */
	/* what it makes of captured calls of rank captured_rank, after the first captured_after */
	enum fake_captured captured;
	int captured_rank, captured_after;
	cudaError_t count; /* what cudaGetDeviceCount returns, if not cudaSuccess */
	int driver;        /* its version where that fails; 0: none */
};

/* Begins; there must be no other thread. Without it the first call begins with $FAKE_CUDA_DEVICES
 * devices, or two; a fault is then printed when the program ends, and the program fails. */
void fake_cuda_open(const struct fake_cuda_options *options);

/* Ends it: false with the first fault, or what was not freed, in text[FAKE_CUDA_TEXT]. */
bool fake_cuda_close(char *text);

/* The first fault, "" if there is none; fake_cuda_forgive() forgets it. */
const char *fake_cuda_fault(void);
void fake_cuda_forgive(void);

/* How often a call was made since the beginning, by all threads. */
uint64_t fake_cuda_made(enum cuda_call call);

/* The nodes of the graph that was launched last, counted by the call that made them, in the order
 * of the first of each. Returns the number of calls, 0 before a launch. *chain: the nodes of the
 * longest chain, in which each waits for the one before. */
enum { FAKE_CUDA_NODES = 32 };

struct fake_cuda_nodes {
	const char *call;
	int count;
};

int fake_cuda_nodes(struct fake_cuda_nodes nodes[FAKE_CUDA_NODES], int *chain);

/* Whether something took a context, and so memory, on a device; bytes allocated on it now. */
bool fake_cuda_has_context(int device);
size_t fake_cuda_used(int device);

/* All work on this device fails from now on with this status, as after a fatal error. */
void fake_cuda_break(int device, cudaError_t status);

/* No work on this device ends from now on. */
void fake_cuda_hang(int device);

/* The rows of one library, as cuda_calls_load() does it. */
void fake_cuda_fill(struct cuda_calls *calls, enum cuda_library library);

#endif
