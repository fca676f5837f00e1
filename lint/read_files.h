/* SPDX-License-Identifier: MIT */
/* The files of one run of lint, which are identified by their places on the disk, and the findings
 * in them. */
#ifndef GM_LINT_READ_FILES_H
#define GM_LINT_READ_FILES_H

#include <sys/types.h>

#include "hash.h"
#include "lint/ignore.h"

struct seen_file {
	const char *path; /* the first name by which it was given */
	bool known;       /* it is on a disk, at: */
	dev_t device;
	ino_t inode;
	bool commented;      /* its comments have been read */
	bool read;           /* by itself */
	bool started;        /* it has been read because another file starts it */
	enum job_known job;  /* of its program */
	enum lint_kind kind; /* of its comments */
	struct ignores ignores;
};

struct lint_seen {
	struct arena arena;
	struct seen_file **files;
	size_t count, room;
	struct hash_index index;    /* of files */
	struct hash_index findings; /* of lint->found */
	size_t hashed;              /* how many of lint->found are in `findings` */
	/* programs that are started, of the file that is read; whether that is reported */
	size_t starts, crowded;
	size_t bytes; /* ... their texts */
};

/* Whether the programs that the file starts have more text than is read. */
enum { SEEN_MEBIBYTES = 16 };
static inline bool seen_full(const struct lint_seen *seen)
{
	return seen->bytes > (size_t)SEEN_MEBIBYTES << 20;
}

/* The file of that name. */
struct seen_file *seen_file(struct lint_seen *seen, const char *path);
/* Reads the comments of a file from its text. */
void seen_comments(struct seen_file *file, struct span text, enum lint_kind kind);
void seen_free(struct lint_seen *seen);

/* Adds the findings about a file to lint->found, except those that a comment hides and those that
 * lint->found has already. `again`: the file may have been read for another launcher before, so a
 * finding with the same id at the same place counts as the same finding. */
void seen_relay(const struct lint *lint, struct seen_file *file, const gpumap_report *from,
		bool again);

#endif
