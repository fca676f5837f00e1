/* SPDX-License-Identifier: MIT */
#ifndef GM_READFILE_H
#define GM_READFILE_H

#include "base.h"

/* All of a descriptor, or of the file at `path` ("-" is standard input where `standard_input`
 * says so). 0, or an errno: EFBIG beyond `most` bytes, ENOMEM. *text ends with a NUL and is
 * the caller's to free; untouched on failure. */
int read_all(int fd, size_t max, char **text, size_t *size);
int read_file(const char *path, bool standard_input, size_t max, char **text, size_t *size);

#endif
