/* SPDX-License-Identifier: MIT */
/*
 * Where the dynamic loader finds a library, by the rules of ld.so(8): RPATH, LD_LIBRARY_PATH,
 * RUNPATH, the cache, and the default folders. Nothing is loaded.
 */
#ifndef GM_FIND_LIBRARY_H
#define GM_FIND_LIBRARY_H

#include "facts.h"

/* Reads LD_LIBRARY_PATH and /etc/ld.so.cache into facts->loader. */
void loader_read(struct facts *facts);

/* SEEN: there is a folder in which libraries are by default. */
struct fact loader_default(struct facts *facts);

/* The folders of LD_LIBRARY_PATH, ended by NULL. */
const char *const *loader_folders(const struct facts *facts);

/* The path of the library in a folder; NULL: it is not there, or it is for other processors. */
const char *loader_in(struct facts *facts, const char *folder, const char *name);

/* Whether it has looked for so many files that it finds no more. */
bool loader_gave_up(const struct facts *facts);

/* The i-th place at which the loader would find the library, LD_LIBRARY_PATH first; NULL: there are
 * no more. `after_path`: without LD_LIBRARY_PATH. */
const char *loader_place(struct facts *facts, const char *name, size_t i, bool after_path);

/* Fills in `real` and `version` for a path. */
struct library library_at(struct facts *facts, const char *name, const char *path);

#endif
