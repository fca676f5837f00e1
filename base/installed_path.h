/* SPDX-License-Identifier: MIT */
#ifndef GM_INSTALLED_PATH_H
#define GM_INSTALLED_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* The path of a file that is installed with this program, or with the library that has this
 * function: it is found from there, so that the folder of an installation can be moved. `built` is
 * its place in a build tree, relative to the top, while the program is there. `installed` is where
 * configure put it, which is the last place that is tried. Another user's file is taken only beside
 * a program of the same user. Writes at most `size` bytes. False: it exists in no place, and `ret`
 * is `installed`. */
bool installed_path(char *ret, size_t size, const char *built, const char *installed);

#endif
