/* SPDX-License-Identifier: MIT */
/*
 * A file that appears whole or not at all: it is written under a temporary name in its folder,
 * synced and renamed to its final name. Until then an old file of the final name stays.
 *
 * 	if (atomic_create(&file, folder, ".part-", 0666) && write_it(file.fd))
 * 		good = atomic_publish(&file, "name");
 * 	atomic_close(&file);
 */
#ifndef GM_ATOMIC_FILE_H
#define GM_ATOMIC_FILE_H

#include <sys/types.h>

#include "base.h"

struct atomic_file {
	int folder;         /* the caller's, open */
	int fd;             /* -1: there is none */
	char temporary[64]; /* the temporary name in the folder; "": there is no file */
	const char *failed; /* the call that failed in atomic_publish: "sync", "rename" ... */
};

/* Opens the folder of a path, and follows no planted link (trust.h). Returns a descriptor, which
 * the caller closes, or -1 with errno. *name is the last part of the path, "" if it ends with a
 * slash. */
int atomic_folder(const char *path, const char **name);

/* Creates a file with a temporary name: `prefix`, then the process id and a number. The umask
 * applies to `mode`. Returns false, with errno, on failure. */
bool atomic_create(struct atomic_file *file, int folder, const char *prefix, mode_t mode);

/* Syncs the file, renames it to its final name, and syncs the folder. Returns false, with errno and
 * `failed`, if one of these fails. If the first two fail, the old file is unchanged. If only the
 * last fails, the new file is in place, but a crash may lose it. */
bool atomic_publish(struct atomic_file *file, const char *name);

/* Closes the file, and removes it if it was not published. Keeps errno. */
void atomic_close(struct atomic_file *file);

/* Syncs a folder, so that a file that was created or renamed in it keeps its name after a crash. If
 * the folder may not be read, or the file system cannot sync folders, it does nothing and returns
 * true. Returns false, with errno, if the sync fails. */
bool atomic_sync_folder(int folder);

#endif
