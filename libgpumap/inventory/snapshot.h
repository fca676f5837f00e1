/* SPDX-License-Identifier: MIT */
/*
 * The snapshot: an inventory as an INI file.
 *
 *	[snapshot]          schema = 1 first; where and when it was recorded
 *	[gpu N]             N is nvidia-smi's number, unless `index` is given
 *	[mig N:i]           the i-th MIG instance of GPU N, after its [gpu N]
 *	[process N:k]       the k-th process of GPU N, after its [gpu N]
 *
 * A member that is left out, or has no value, is not known. The usage of devices needs schema 2,
 * which a file has only if it has usage: gpumap that knows only schema 1 refuses the members and
 * [process], and names the schema as the reason.
 */
#ifndef GM_SNAPSHOT_H
#define GM_SNAPSHOT_H

#include "inventory/inventory.h"
#include "text/inifile.h"

enum { SNAPSHOT_SCHEMA = 1, SNAPSHOT_USAGE_SCHEMA = 2 };

enum snapshot_kind {
	SNAPSHOT_VERSION, /* of the file's schema */
	SNAPSHOT_FLAG,    /* bool: yes, or no */
	SNAPSHOT_ORDER,   /* positions by CUDA number, as "0-3,?,5"; ?: not in the inventory */
	SNAPSHOT_TEXT,    /* char * */
	SNAPSHOT_GPU_UUID,
	SNAPSHOT_MIG_UUID,
	SNAPSHOT_PCI,
	SNAPSHOT_LIST,    /* char *: "0-31,64-95" */
	SNAPSHOT_BYTES,   /* int64_t */
	SNAPSHOT_NUMBER,  /* int */
	SNAPSHOT_ID,      /* int64_t: of a process or user */
	SNAPSHOT_INDEX,   /* int; the section's name holds it when it is known */
	SNAPSHOT_ENABLED, /* int: yes, no, unknown */
	SNAPSHOT_NVLINK,  /* indices, or none */
	SNAPSHOT_MODE,    /* int: the word of a compute mode */
	SNAPSHOT_LISTED,  /* enum listed: all, some, none */
	SNAPSHOT_TYPES,   /* unsigned: compute, graphics, mps */
	SNAPSHOT_START,   /* of a gpumap_process: "2026-11-21T10:00:00Z" */
	SNAPSHOT_ACTIVE   /* of a gpumap_process: such a time, or none */
};

struct snapshot_member {
	const char *name;
	enum snapshot_kind kind;
	size_t offset; /* in gpumap_inventory, gpumap_process or gpumap_device */
	bool usage;    /* needs the schema of usage */
};

/* The reader and the writer use the same table. */
struct snapshot_table {
	const char *const *names; /* ends with NULL */
	const struct snapshot_member *members;
	size_t count;
};

enum { SNAPSHOT_MAX_MEMBERS = 20 };

extern const struct snapshot_table snapshot_head, snapshot_gpu, snapshot_mig, snapshot_process;

/* Sets a member of kinds TEXT to START from its text, decoded if it is a TEXT. Returns
 * NULL, or a description of the values that are valid; *nomem is set when memory ran out. */
const char *snapshot_set(const struct snapshot_member *member, void *object, struct span value,
			 bool *nomem);

/* Reads an order for `count` GPUs into a new array. Returns as snapshot_set(). */
const char *snapshot_order(int **ret, size_t count, struct span value, bool *nomem);

#endif
