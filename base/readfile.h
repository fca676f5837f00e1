/* SPDX-License-Identifier: MIT */
#ifndef GM_READFILE_H
#define GM_READFILE_H

#include "base.h"

/* Reads all of a descriptor, or of the file at `path` ("-" is standard input if `standard_input` is
 * true). 0, or an errno: EFBIG for more than `max` bytes, ENOMEM. *text ends with a NUL; the caller
 * frees it. It is unchanged on failure. */
int read_all(int fd, size_t max, char **text, size_t *size);
int read_file(const char *path, bool standard_input, size_t max, char **text, size_t *size);

#endif
