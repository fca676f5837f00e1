/* SPDX-License-Identifier: MIT */
/*
 * The memory in which ranks of one machine meet, as threads or as processes: which rank is where,
 * which ranks wait, and why the run fails.
 *
 * A collective call begins with a phase, which ends when all ranks are in it. Before it a rank
 * writes its call to one of two records; the other still belongs to the previous call. A rank
 * writes a record again only after all others have left the call in which they read it.
 */
#ifndef TRAIN_COLLECTIVE_SHM_CONTROL_BLOCK_H
#define TRAIN_COLLECTIVE_SHM_CONTROL_BLOCK_H

#include <stdatomic.h>

#include "collective/call.h"
#include "collective/collective.h"

enum {
	SHM_LINE = 64,      /* members that one rank writes often have their own cache lines */
	SHM_SMALL = 4096,   /* bytes that go through the records: one phase, no other memory */
	SHM_MAX_RANKS = 256 /* a record for each pair must stay small */
};

struct shm_call {
	struct call call;
	void *values; /* of ranks that are threads of one process */
};

struct shm_slot {
	/* counts the events that the rank may wait for */
	_Alignas(SHM_LINE) _Atomic uint32_t event;
	_Atomic uint32_t sleeping;                 /* it sleeps until event changes */
	_Alignas(SHM_LINE) _Atomic uint32_t phase; /* the phase that it has reached */
	_Atomic uint32_t doing;                    /* enum call_kind */
	_Atomic int32_t process;                   /* 0: not open yet */
	_Atomic uint32_t joined;                   /* a process is this rank */
	_Atomic uint32_t closed;
	_Atomic uint32_t inside; /* it uses memory of the others */
	_Atomic int64_t checked; /* its last wait for its device (CLOCK_MONOTONIC, ns); 0: none */
	_Alignas(SHM_LINE) struct shm_call calls[2];
	_Alignas(SHM_LINE) unsigned char small[2][SHM_SMALL];
};

/* One message from a rank to another. */
struct shm_box {
	_Alignas(SHM_LINE) _Atomic uint32_t sent, taken;
	struct call call;
	uint64_t offset, capacity; /* of its memory in the segment */
	void *memory;              /* of threads */
};

struct shm_control_block {
	uint64_t layout; /* other builds of this program may differ */
	int32_t world;
	_Atomic int32_t joined;    /* ranks that did, still running or not */
	_Atomic int32_t lingering; /* processes, for ranks that did not */
	_Alignas(SHM_LINE) _Atomic uint32_t arrived;
	_Alignas(SHM_LINE) _Atomic uint32_t complete;   /* the last phase with all ranks */
	_Alignas(SHM_LINE) _Atomic uint32_t failed;     /* 1: being written; 2: there is a reason */
	_Alignas(SHM_LINE) _Atomic uint64_t memory_end; /* of the segment */
	struct train_error why;
	_Alignas(SHM_LINE) struct shm_slot slots[]; /* then a box for each pair, then chunks */
};

struct rendezvous {
	struct rendezvous_options options;
	bool threads; /* or else processes */
	int spins;    /* how often a waiting rank polls before it sleeps */
	struct shm_control_block *control;
	struct shm_box *boxes;
	unsigned char *chunks; /* two of each rank, of processes */
	size_t chunk;          /* bytes */
	size_t bytes;          /* of all that */
	size_t mapped;         /* of the segment */
	int fd;                /* of the segment, or -1 */
	int64_t lingers_ns;    /* until then (CLOCK_MONOTONIC); 0: it does not */
	char name[256];
};

/* Memory of a box of another process, mapped here. */
struct shm_map {
	void *memory;
	uint64_t offset, capacity;
};

struct shm_comm {
	struct communicator base;
	struct rendezvous *rendezvous;
	struct shm_control_block *control;
	struct shm_slot *slot;
	struct shm_map *to, *from; /* of each rank, of processes */
	uint32_t phase;
	uint32_t calls;        /* collective ones */
	uint32_t chunks;       /* that were used */
	int spins;             /* before it sleeps */
	struct call doing;     /* for messages */
	int64_t waited_before; /* waited_ns when the call began */
	int64_t looked;        /* when shm_check() last looked for gone ranks */
};

/* The offsets of the parts of a rendezvous; sets bytes. */
void shm_control_plan(struct rendezvous *rendezvous);
/* memory has `bytes` zeros, or another process has initialised it. */
void shm_control_at(struct rendezvous *rendezvous, void *memory);
void shm_control_begin(struct rendezvous *rendezvous);
/* Whether the block is of this build of the program. */
bool shm_control_ours(const struct shm_control_block *control);

/* Notes what the rank does now; fails if the run has failed. */
bool shm_start(struct shm_comm *comm, const struct call *call, struct train_error *error);
/* As shm_start, and writes the record of a collective call; returns its index, 0 or 1, or -1. */
int shm_call(struct shm_comm *comm, const struct call *call, void *values,
	     struct train_error *error);
/* Waits until all ranks are here. */
bool shm_phase(struct shm_comm *comm, struct train_error *error);
/* The first phase of a call: all ranks are in the same one. */
bool shm_agree(struct shm_comm *comm, struct train_error *error);

/* Waits until *word has reached value, which may wrap. `peer` is the rank that sets it, or -1 for
 * all. */
bool shm_wait(struct shm_comm *comm, const _Atomic uint32_t *word, uint32_t value, int peer,
	      struct train_error *error);
/* As collective.h's check. */
bool shm_check(struct communicator *comm, const char *where, int64_t waited_ns,
	       struct train_error *error);
/* Wakes the rank: its condition may have changed. */
void shm_post(const struct rendezvous *rendezvous, int rank);

/* Makes the run fail with this reason, unless it has failed before; error becomes the first
 * reason. */
bool shm_fail(const struct rendezvous *rendezvous, struct train_error *error, const char *format,
	      ...) __attribute__((format(printf, 3, 4)));
/* The same with another status than TRAIN_FAILED. */
void shm_fail_as(const struct rendezvous *rendezvous, enum train_status status, const char *format,
		 ...) __attribute__((format(printf, 3, 4)));
/* False, with the reason, if the run has failed. */
bool shm_good(const struct rendezvous *rendezvous, struct train_error *error);

#endif
