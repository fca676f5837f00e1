/* SPDX-License-Identifier: MIT */
/* Descriptors and folders that are closed where their variable ends. errno stays. */
#ifndef GM_CLOSING_H
#define GM_CLOSING_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base.h"

/* Of a descriptor, -1: there is none. It is -1 then. */
static inline void close_variable(int *fd)
{
	int why = errno;

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = why;
}
#define CLEANUP_CLOSE CLEANUP(close_variable)

/* Of a DIR *, NULL: there is none. */
static inline void close_folder(DIR **folder)
{
	int why = errno;

	if (*folder)
		closedir(*folder);
	errno = why;
}
#define CLEANUP_FOLDER CLEANUP(close_folder)

/* The entries of an open folder, from the first one; NULL, with errno. */
static inline DIR *entries_of(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;

	if (!entries)
		close_variable(&fd);
	return entries;
}

#endif
