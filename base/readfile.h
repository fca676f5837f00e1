/* SPDX-License-Identifier: MIT */
#ifndef GM_READFILE_H
#define GM_READFILE_H

#include <sys/types.h>

#include "base.h"

/* Reads all of a descriptor, or of the file at `path` ("-" is standard input if `standard_input` is
 * true). 0, or an errno: EFBIG for more than `max` bytes, ENOMEM. *text ends with a NUL; the caller
 * frees it. It is unchanged on failure. */
int read_all(int fd, size_t max, char **text, size_t *size);
int read_file(const char *path, bool standard_input, size_t max, char **text, size_t *size);

/* Reads the start of a file, as far as it fits, with a NUL after it. Of a file of /proc that is all
 * that fits. Allocates nothing. Returns how many bytes it has; -1 with errno, and *ret is "". */
ssize_t read_start(char *ret, size_t size, const char *path);
/* Where a link leads. False with errno: ENAMETOOLONG, it does not fit; *ret is then "". */
bool read_link(char *ret, size_t size, const char *path);

#endif
