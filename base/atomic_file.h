/* SPDX-License-Identifier: MIT */
/*
 * A file that appears whole or not at all: it is written under a temporary name in its folder,
 * synced and renamed. Until then an old file of that name stays.
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

/* Opens the folder of a path. *name is the last part of the path, "" if it ends with a slash. -1
 * with errno. The caller closes the descriptor. */
int atomic_folder(const char *path, const char **name);

/* Creates a file named PREFIX, process id and number. The umask applies to `mode`. False with
 * errno. */
bool atomic_create(struct atomic_file *file, int folder, const char *prefix, mode_t mode);

/* Renames the file to its final name. False with errno and `failed`; then the old file is
 * unchanged. But if only the folder could not be synced, the new file is in place, and a crash may
 * lose it. */
bool atomic_publish(struct atomic_file *file, const char *name);

/* Closes the file, and removes it if it was not published. Keeps errno. */
void atomic_close(struct atomic_file *file);

/* Syncs a folder, so that its names survive a crash as the contents do. It does nothing if the
 * folder may not be read, or the file system cannot sync folders. False with errno. */
bool atomic_sync_folder(int folder);

#endif
