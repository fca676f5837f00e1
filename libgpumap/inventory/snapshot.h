/* SPDX-License-Identifier: MIT */
/*
 * The snapshot: an inventory as an INI file.
 *
 *	[snapshot]          schema = 1 first; where and when it was recorded
 *	[gpu N]             N is nvidia-smi's number, unless `index` is given
 *	[mig N:i]           the i-th MIG instance of GPU N, after its [gpu N]
 *
 * A member that is left out, or has no value, is not known.
 */
#ifndef GM_SNAPSHOT_H
#define GM_SNAPSHOT_H

#include "inifile.h"
#include "inventory/inventory.h"

enum { SNAPSHOT_SCHEMA = 1 };

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
	SNAPSHOT_INDEX,   /* int; the section's name holds it when it is known */
	SNAPSHOT_ENABLED, /* int: yes, no, unknown */
	SNAPSHOT_NVLINK   /* indices, or none */
};

struct snapshot_member {
	const char *name;
	enum snapshot_kind kind;
	size_t offset; /* in gpumap_inventory for [snapshot], else in gpumap_device */
};

/* The reader and the writer use the same table. */
struct snapshot_table {
	const char *const *names; /* ends with NULL */
	const struct snapshot_member *members;
	size_t count;
};

enum { SNAPSHOT_MAX_MEMBERS = 16 };

extern const struct snapshot_table snapshot_head, snapshot_gpu, snapshot_mig;

/* Sets a member of kinds TEXT to NVLINK (not ORDER) from its text, decoded if it is a TEXT. Returns
 * NULL, or a description of the values that are valid; *nomem is set when memory ran out. */
const char *snapshot_set(const struct snapshot_member *member, void *object, struct span value,
			 bool *nomem);

/* Reads an order for `count` GPUs into a new array. Returns as snapshot_set(). */
const char *snapshot_order(int **ret, size_t count, struct span value, bool *nomem);

#endif
