/* SPDX-License-Identifier: MIT */
#ifndef GM_HELPER_PATH_H
#define GM_HELPER_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* The path of a file of gpumap: in the build tree while the program runs there (`built` is relative
 * to its top), else `installed`. Writes at most `size` bytes. False: it exists in
 * neither place, and `ret` is `installed`. */
bool helper_path(char *ret, size_t size, const char *built, const char *installed);

#endif
