/* SPDX-License-Identifier: MIT */
/*
 * gpumap leases: who has leased which GPUs.
 *
 *	leases_read()	the owners of the locks, what /proc has about them, and the use of the GPUs
 *	leases_text()	a line for each lease, for people
 *	leases_json()	the same for programs
 *	leases_revoke()	ends one
 */
#ifndef GM_LEASES_H
#define GM_LEASES_H

#include "gpumap.h"

#include "live/lease_people.h"
#include "strbuf.h"

/* What a lease lasts as long as. */
enum lease_kind {
	LEASE_OF_UNKNOWN, /* its process is not visible here, or has ended before its children */
	LEASE_OF_PROGRAM, /* gpumap pick N -- PROGRAM, or a program that uses the library */
	LEASE_OF_RUN,     /* gpumap run */
	LEASE_OF_SHELL,   /* gpumap pick --shell */
	LEASE_OF_PROCESS, /* gpumap pick --hold, --adopt */
};

struct lease_row {
	int64_t pid;         /* that took it; 0: not visible here */
	bool ended;          /* that has ended, and another process has its number */
	size_t *gpus, count; /* positions among the units */
	int64_t slots;       /* it has one of so many slots on each GPU; 1: the whole GPU */
	bool instances;      /* it has MIG instances */
	enum lease_kind kind;
	const gpumap_process *owner; /* what /proc has about pid; NULL: nothing */
	const gpumap_process
		*kept_for;      /* the process that a guard waits for; NULL: there is no guard */
	struct lease_kept kept; /* who has it, if the process that took it has ended */
	int64_t left_ms;        /* until --for ends it; -1: it has no end */
	int64_t idle_ms;        /* --idle; -1: none */
	int64_t load, memory;   /* the highest load, and the sum of the memory; -1: not known */
	bool idle;              /* no GPU has a load or a process */
};

struct leases {
	gpumap_inventory *machine;
	gpumap_inventory *inventory; /* the units of the machine (lease/units.h) */
	struct lease_kept people;    /* those that the rows name */
	struct lease_row *rows;      /* by their first GPU */
	size_t count;
	bool known;  /* all leases, as far as the kernel shows them */
	int64_t now; /* seconds since the epoch */
};

/* A warning says why not all leases are known. */
int leases_read(struct leases *ret, gpumap_report *report);
void leases_free(struct leases *leases);

/* `idle`: only leases whose GPUs have no load and no process. */
void leases_text(struct strbuf *buf, const struct leases *leases, bool idle);
void leases_json(struct strbuf *buf, const struct leases *leases, bool idle,
		 const gpumap_report *report);
const char *lease_kind_word(enum lease_kind kind);
/* Whether the process that took it is there, or may be. */
bool lease_owner_is_there(const struct lease_row *row);
/* Appends the GPUs and MIG instances, "0,1" or "0:1". */
void lease_gpus_text(struct strbuf *buf, const struct leases *leases, const struct lease_row *row);

/* Ends the lease that `what` names: a GPU, as a number or UUID, a MIG instance, as "0:1" or UUID,
 * or the process that took it, pid:N or a number that is not a GPU's. Appends what was done.
 * GPUMAP_EINPUT: there is no such lease, or it is not permitted. */
int leases_revoke(struct strbuf *buf, const struct leases *leases, const char *what,
		  gpumap_report *report);

#endif
