/* SPDX-License-Identifier: MIT */
/*
 * Machines for tests, written as a line of text:
 *
 *	-				no inventory at all
 *	8, 8xH100, 2xA+1xB		as --inventory takes it
 *	[driver=V] [partial] [doubt=N] [fastest=1,0] GPUS
 *
 * GPUS are joined by commas. A GPU is [INDEX:]UUID[=NAME][[MIGS]], its UUID "-" where it
 * has none, its index "?"; MIGS are joined by semicolons, one is UUID[@GI.CI][=PROFILE].
 */
#ifndef GM_MACHINES_H
#define GM_MACHINES_H

#include "inventory/inventory.h"
#include "request/request.h"

/* Aborts the test on a malformed line. The caller frees it; NULL for "-". */
gpumap_inventory *machine(const char *text);

/* States "key=value|key=value" with the origin "--key"; "" states nothing. The first
 * code that is not success ends it. */
int set_statements(gpumap_request *request, const char *text, gpumap_report *report);
/* Takes "NAME=value|NAME=value" as the environment; "" is an empty one. */
int surround(gpumap_request *request, const char *text, gpumap_report *report);

/* Resolves the statements. Returns the code, and *ret as gpumap_resolve leaves it. */
int resolve_statements(gpumap_mapping **ret, const char *statements, const char *environment,
		       const char *machine_text, gpumap_report *report);

/* Whether the mapping and the report hold a term, as tests/unit/t-resolve.c lists them;
 * *got (free it) has what is there instead. */
bool term_holds(const char *term, int code, const gpumap_mapping *mapping,
		const gpumap_report *report, char **got);

#endif
