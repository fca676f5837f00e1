/* SPDX-License-Identifier: MIT */
/*
 * A file that appears whole or not at all: it is written under another name in its folder,
 * synced and renamed. An old file of its name stays until then.
 *
 *	if (atomic_create(&file, folder, ".part-", 0666) && write_it(file.fd))
 *		good = atomic_publish(&file, "name");
 *	atomic_close(&file);
 */
#ifndef GM_ATOMIC_FILE_H
#define GM_ATOMIC_FILE_H

#include <sys/types.h>

#include "base.h"

struct atomic_file {
	int folder;         /* the caller's, open */
	int fd;             /* -1: there is none */
	char temporary[64]; /* its name in the folder so far; "": there is none */
	const char *failed; /* what atomic_publish could not do: "sync", "rename" ... */
};

/* The folder of a path, open for names in it, and the last part of the path, "" where it ends
 * with a slash. -1 with errno. The caller closes it. */
int atomic_folder(const char *path, const char **name);

/* A new file named PREFIX, process and number, with what the umask leaves of `mode`. False with
 * errno. */
bool atomic_create(struct atomic_file *file, int folder, const char *prefix, mode_t mode);

/* Gives it its name for good. False with errno and `failed`: what was there before is there, unless
 * only the folder could not be synced: then the new file is there, but may not outlive a crash. */
bool atomic_publish(struct atomic_file *file, const char *name);

/* Closes it; one that was not published is removed. errno is kept. */
void atomic_close(struct atomic_file *file);

/* The names in a folder must outlive a crash as contents do. Folders that may not be read, and
 * file systems without it, leave that to the kernel. False with errno. */
bool atomic_sync_folder(int folder);

#endif
