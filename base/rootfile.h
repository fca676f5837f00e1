/* SPDX-License-Identifier: MIT */
/*
 * Files of this machine, or of a recorded one: a copy of its files below a folder, the root. "" is
 * this machine. Nothing outside of a root is opened: its links, absolute ones too, stay inside. No
 * function waits for another process, whatever kind of file a path leads to.
 */
#ifndef GM_ROOTFILE_H
#define GM_ROOTFILE_H

#include <dirent.h>
#include <sys/stat.h>

#include "base.h"

/* Opens root/path. `path` begins with a slash, except with the root "". -1: errno has the reason.
 * Below a root, a path has at most 63 folders. */
int root_open(const char *root, const char *path, int flags);

/* Reads a regular file of at most `max` bytes. Returns 0 or an errno: EFBIG, ENOMEM, and ENOTSUP
 * for a pipe, a socket or a device. *text ends with a NUL; the caller frees it. */
int root_read(const char *root, const char *path, size_t max, char **text, size_t *size);

/* 0 or an errno. */
int root_stat(const char *root, const char *path, struct stat *ret);

/* The folder, for closedir(). NULL: errno has the reason. */
DIR *root_folder(const char *root, const char *path);

/* The path without links, below the root. 0 or an errno. */
int root_real(const char *root, const char *path, char *ret, size_t size);

#endif
