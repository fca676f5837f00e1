/* SPDX-License-Identifier: MIT */
/* The files of one run of lint, each of which is known by what it is on the disk, and what has been
 * found in them. */
#ifndef GM_LINT_SEEN_H
#define GM_LINT_SEEN_H

#include <sys/types.h>

#include "hash.h"
#include "lint/ignore.h"

struct seen_file {
	const char *path; /* as it was named first */
	bool known;       /* it is on a disk, at: */
	dev_t device;
	ino_t inode;
	bool commented; /* its comments have been read */
	bool read;      /* by itself */
	bool started;   /* it has been read as what another file starts */
	struct ignores ignores;
};

struct lint_seen {
	struct arena arena;
	struct seen_file **files;
	size_t count, room;
	struct hash_index index;    /* of files */
	struct hash_index findings; /* of lint->found */
	size_t hashed;              /* how many of them are in it */
};

/* The file of that name; NULL without memory. */
struct seen_file *seen_file(struct lint_seen *seen, const char *path);
/* The comments of a file whose text is there. GPUMAP_ENOMEM. */
int seen_comments(struct seen_file *file, struct span text, enum lint_kind kind);
void seen_free(struct lint_seen *seen);

/* Adds the findings about a file to lint->found: not those that a comment hides, nor what an
 * earlier report had. `again`: the file may have been read for another launcher, so that one of the
 * same id at the same place is the same in other words. GPUMAP_ENOMEM. */
int seen_relay(const struct lint *lint, struct seen_file *file, const gpumap_report *from,
	       bool again);

#endif
