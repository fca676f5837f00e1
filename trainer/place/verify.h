/* SPDX-License-Identifier: MIT */
/*
 * --verify-mapping: is this run's memory on the GPUs that the mapping names, and on no other
 * (rule G5)? NVML is asked, which knows nothing of the mapping.
 *
 * Where it lists this process, its own memory tells. Where process ids are hidden, of another
 * namespace (containers) or not told, what each GPU has in use is compared with what it had before
 * the run opened a device. Then memory on a GPU that another rank of this run uses looks like that
 * rank's, and another program's memory like this run's.
 */
#ifndef TRAIN_PLACE_VERIFY_H
#define TRAIN_PLACE_VERIFY_H

#include "collective/collective.h"
#include "place/gpu_memory.h"

/* A GPU that the mapping names: by its UUID, or where that is "" by its number. */
struct verify_gpu {
	int physical;
	char uuid[64];
};

enum verify_how {
	VERIFY_NOT_LOOKED, /* another rank of this process does */
	VERIFY_BY_PROCESS,
	VERIFY_BY_DIFFERENCE,
	VERIFY_BY_BOTH /* by process where NVML lists them, else by difference */
};

enum verify_fault {
	VERIFY_GOOD,
	VERIFY_STRAY,   /* memory where none is to be */
	VERIFY_NOTHING, /* none where the mapping says */
	VERIFY_UNREAD,  /* a GPU of the mapping cannot be read */
	VERIFY_UNSHOWN  /* NVML does not show it */
};

/* What a process found. */
struct verify_verdict {
	int32_t how, fault; /* enum verify_how, verify_fault */
	int32_t gpu, mig;   /* of the fault, as gpu_use; of VERIFY_UNSHOWN the mapping's number */
	int32_t by_process; /* the fault was found so: it is this process's */
	int32_t left_out;   /* other GPUs that cannot be read */
	int64_t bytes;      /* VERIFY_STRAY: so much; -1: not known */
	char pci[GPU_PCI], uuid[64], why[GPU_WHY];
};

struct verify_facts {
	const struct gpu_use *before, *now;
	int before_count, now_count;
	const struct verify_gpu *own; /* what the mapping names for this process */
	int own_count;
	const struct verify_gpu *others; /* and for other ranks on this machine */
	int others_count;
};

/* Memory that comes or goes without a context of CUDA, of which none is smaller: the driver's own
 * tables, when a GPU wakes up. Less is no difference. */
enum { VERIFY_NOISE_MIB = 32 };

/* The worst that the facts show. */
void verify_judge(struct verify_verdict *ret, const struct verify_facts *facts);

struct verify;

/* Loads NVML and notes what is in use: before anything opens a device. `pid` is this process. */
bool verify_open(struct verify **verify, int pid, struct train_error *error);
void verify_close(struct verify *verify); /* NULL is nothing */

struct verify_options {
	const struct verify *verify;  /* NULL: another rank of this process looks */
	const struct verify_gpu *own; /* of this process */
	int own_count;
	struct verify_gpu mine; /* of this rank */
	const char *when;       /* "after the first step" */
};

enum { VERIFY_TEXT = 256 };

/* All ranks look at the same time. When one finds a fault all fail, with the first one's: which
 * GPU, how much, whose, and the remedy. Otherwise `text` says by what it was verified. */
bool verify_look(const struct verify_options *options, struct communicator *comm,
		 char text[VERIFY_TEXT], struct train_error *error);

#endif
