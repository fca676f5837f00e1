/* SPDX-License-Identifier: MIT */
/* Whose files and links this process follows: its own user's, and root's. */
#ifndef GM_TRUST_H
#define GM_TRUST_H

#include <stddef.h>
#include <sys/stat.h>

#include "base.h"

/* Whether this process's user, or root, owns the file. */
bool owner_trusted(const struct stat *st);

/* A planted link is a symbolic link of another user in a folder that others may write to: it can
 * lead the files of this user to any place. The kernel follows none in folders with the sticky bit
 * (fs.protected_symlinks of proc(5)); here the folder need not have it. Returns the length of the
 * first part of `path` that is one; 0: there is none, up to where the path exists. */
size_t planted_link(const char *path);

#endif
