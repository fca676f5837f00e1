/* SPDX-License-Identifier: MIT */
/*
 * Rules R1, R2 and R4: which rank this process is, by the variables that its launcher set. Numbers
 * are taken as given or counted per node, never computed as rank % n.
 */
#ifndef GM_RANK_IDENTITY_H
#define GM_RANK_IDENTITY_H

#include "request/request.h"

enum { RANK_IDENTITY_ROWS = 9 }; /* launchers that a process can be started through */

struct rank_identity {
	const char *row;    /* "torch", "Open MPI", ... */
	const char *origin; /* of the local rank's statement; may be NULL */
	/* the variables that gave these numbers */
	enum variable rank_variable, size_variable, local_variable;
	int64_t rank, size, local_rank, local_size, node_rank, nodes; /* -1: not known */
};

/* Reads the complete rows in the order of rule R1, in which the first row wins. Returns the number
 * of rows; 0: no launcher set variables. A row with an invalid value is reported and left out, and
 * so are rows that disagree. If RANK and WORLD_SIZE are node numbers (rule R2), the last row is
 * "Kubernetes", which has only the node. */
size_t rank_identity_read(struct rank_identity rows[RANK_IDENTITY_ROWS],
			  const gpumap_request *request, gpumap_report *report);

/* The i-th variable that gives a process its rank, in any row. A launcher unsets these for the
 * ranks that it starts. NULL past the end. */
const char *rank_identity_variable(size_t i);

/* The meaning of a variable in some row; RANK_VARIABLE_OTHER: another variable of a row. */
enum rank_variable_meaning {
	RANK_VARIABLE_NOTHING,
	RANK_VARIABLE_OTHER,
	RANK_VARIABLE_RANK,
	RANK_VARIABLE_LOCAL_RANK
};
enum rank_variable_meaning rank_variable_meaning(struct span name);

/* The i-th variable of a row by its name, NULL past the end. */
const char *rank_identity_row_variable(const char *row, size_t i);

#endif
