/* SPDX-License-Identifier: MIT */
/*
 * Hosts as schedulers and launchers write them: Slurm's node lists, hostfiles, and counts
 * per node. Order and duplicates are kept. A malformed text is GPUMAP_EINPUT with a finding
 * that names the place; more than HOSTLIST_MAX hosts is GPUMAP_ELIMIT.
 */
#ifndef GM_HOSTLIST_H
#define GM_HOSTLIST_H

#include "gpumap.h"

#include "arena.h"
#include "text.h"

enum {
	HOSTLIST_MAX = 100000,   /* hosts in a list */
	HOSTLIST_NAME_MAX = 253, /* bytes of a name, as in DNS */
};

struct host {
	const char *name;
	int64_t slots; /* from 1; -1: not given */
};

struct hostlist {
	struct arena arena;
	struct host *hosts;
	size_t count, room;
};

/* "n[08-11,20]-ib[0,1],gpu1" as scontrol show hostnames expands it; names are separated by commas
 * or blanks. A name may have several brackets, but no text after the last bracket. This is stricter
 * than Slurm, which guesses: "n[1-]", "n[1" and blanks inside brackets are errors here. */
int hostlist_parse(struct hostlist *ret, struct span text, const char *origin,
		   gpumap_report *report);

/* The same, but names may also have * and ?, and nothing is reported. */
int hostlist_parse_patterns(struct hostlist *ret, struct span text);
/* Whether the text is such a list, without expanding it. The number of hosts and the length of
 * names with brackets are not checked. False: *wrong is the malformed name. */
bool hostlist_check(struct span text, bool patterns, struct span *wrong);

/* A hostfile: lines of "name", "name slots=N" or "name:N"; # begins a comment. Hosts with slots=0
 * are left out, with a remark. If a name alone stands on several lines, each such line of any host
 * is a slot. */
int hostfile_parse(struct hostlist *ret, struct span text, const char *origin,
		   gpumap_report *report);

void hostlist_free(struct hostlist *list);

/* "2(x3),1" is 2, 2, 2, 1. The caller frees *ret. */
int counts_parse(int64_t **ret, size_t *count, struct span text, const char *origin,
		 gpumap_report *report);
/* The count of node `i` alone; -1: there is none, or the text is malformed. */
int64_t counts_at(struct span text, int64_t i);

#endif
