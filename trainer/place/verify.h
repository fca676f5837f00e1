/* SPDX-License-Identifier: MIT */
/*
 * --verify-mapping: is this run's memory on the GPUs that the mapping names, and on no other (rule
 * G5)? NVML has the answer and does not know the mapping.
 *
 * If it lists this process, the process's own memory counts. If process ids are hidden, not known
 * or of another namespace (containers), the memory in use on each GPU is compared with that before
 * the run opened a device. Then memory on a GPU that another rank of this run uses looks like that
 * rank's, and another program's memory like this run's.
 */
#ifndef TRAIN_PLACE_VERIFY_H
#define TRAIN_PLACE_VERIFY_H

#include "collective/collective.h"
#include "place/gpu_memory.h"
#include "place/place.h"

enum verify_how {
	VERIFY_NOT_LOOKED, /* another rank of this process checks */
	VERIFY_BY_PROCESS,
	VERIFY_BY_DIFFERENCE,
	VERIFY_BY_BOTH /* by process if NVML lists them, else by difference */
};

enum verify_fault {
	VERIFY_GOOD,
	VERIFY_STRAY,   /* memory on a GPU outside of the mapping */
	VERIFY_NOTHING, /* no memory on a GPU of the mapping */
	VERIFY_UNREAD,  /* a GPU of the mapping cannot be read */
	VERIFY_UNSHOWN  /* NVML does not list it */
};

/* The result of a process. */
struct verify_verdict {
	int32_t how, fault; /* enum verify_how, verify_fault */
	int32_t gpu, mig;   /* of the fault, as gpu_use; of VERIFY_UNSHOWN the mapping's number */
	int32_t by_process; /* the fault was found by process: the memory is this process's */
	int32_t left_out;   /* 1: other GPUs cannot be read */
	int32_t at_least;   /* memory that NVML lists for no process may be this one's */
	int64_t bytes;      /* VERIFY_STRAY: so much; -1: not known */
	char pci[GPU_PCI], uuid[64], why[GPU_WHY];
};

struct verify_facts {
	const struct gpu_use *before, *now;
	int before_count, now_count;
	/* The GPUs of the mapping for this process: by UUID, or if that is "" by number. */
	const struct place_device *own;
	int own_count;
	const struct place_device *others; /* and for other ranks on this machine */
	int others_count;
};

/* Changes below this are ignored: the driver's own tables when a GPU wakes up. Every CUDA context
 * is larger. */
enum { VERIFY_NOISE_MIB = 32 };

/* The worst that the facts show. */
void verify_judge(struct verify_verdict *ret, const struct verify_facts *facts);

struct verify;

/* Loads NVML and notes the memory in use. Call it before anything opens a device. `pid` is this
 * process. */
bool verify_open(struct verify **verify, int pid, struct train_error *error);
void verify_close(struct verify *verify); /* may be NULL */

struct verify_options {
	const struct verify *verify;    /* NULL: another rank of this process checks */
	const struct place_device *own; /* of this process */
	int own_count;
	struct place_device mine; /* of this rank */
	const char *when;         /* "after the first step" */
};

enum { VERIFY_TEXT = 256 };

/* All ranks check at the same time. If one finds a fault, all fail with the first one: the GPU, the
 * bytes, the owner and the remedy. Otherwise `text` has the method. */
bool verify_look(const struct verify_options *options, struct communicator *comm,
		 char text[VERIFY_TEXT], struct train_error *error);

#endif
