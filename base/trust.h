/* SPDX-License-Identifier: MIT */
/* This process follows the files and links of its own user and of root. */
#ifndef GM_TRUST_H
#define GM_TRUST_H

#include <stddef.h>
#include <sys/stat.h>

#include "base.h"

/* Whether this process's user, or root, owns the file. */
bool owner_trusted(const struct stat *st);

/* Opens a file of settings, to be checked and read by one descriptor. -1: *why is the reason why it
 * is not trusted; NULL: there is no such file. */
int open_trusted(const char *path, const char **why);

/* A planted link is a symbolic link of another user in a folder that others may write to: it can
 * lead the files of this user to any place. The kernel does not follow such a link if the folder
 * has the sticky bit (fs.protected_symlinks of proc(5)); here the folder need not have that bit.
 * Returns the length of the beginning of `path` that ends at the first planted link; 0: the part of
 * `path` that exists has none. */
size_t planted_link(const char *path);

/* Opens the last name of a path as openat(2) does, and follows no planted link, whatever others do
 * to the path meanwhile. `folders`: the folders on the way are made. ELOOP: a link is planted, or
 * there are too many, or with O_NOFOLLOW the last name is one; EMLINK: the file has several names,
 * and others may have made one of them. */
int open_unplanted(const char *path, int flags, bool folders);

#endif
