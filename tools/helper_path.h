/* SPDX-License-Identifier: MIT */
#ifndef GM_HELPER_PATH_H
#define GM_HELPER_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Where a file that belongs to gpumap lies: beside this program while it runs in its
 * build tree (`built` is relative to the top of that), else `installed`. Writes at
 * most `size` bytes; false: it is in neither place, *ret is then `installed`. */
bool helper_path(char *ret, size_t size, const char *built, const char *installed);

#endif
