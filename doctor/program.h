/* SPDX-License-Identifier: MIT */
/* The program that is to be started: what kind it is, and what it would load. */
#ifndef GM_PROGRAM_H
#define GM_PROGRAM_H

#include "facts.h"

/* Fills in facts->program for a command with its arguments. Returns 0 or an errno: the program
 * cannot be found or opened. */
int program_read(struct facts *facts, const char *const *command);

/* The absolute path of a word with slashes; that of a recorded machine begins at its root. NULL:
 * the current folder has no name. */
const char *program_absolute(struct facts *facts, const char *word);
/* The path of a program, by PATH if the word has no slash. NULL: it is not found. */
const char *program_find_path(struct facts *facts, const char *word);
/* Why an interpreter cannot be looked at; NULL: it can. */
const char *python_unseen(struct facts *facts, const char *path);

/* Without a program: fills in facts->pythons. */
void pythons_read(struct facts *facts);

/* The environment of a Python interpreter: its prefix, version and packages. */
struct python python_read(struct facts *facts, const char *interpreter);

/* Fills in ret->packages from these folders, of which Python searches the first first. */
void packages_read(struct facts *facts, struct python *ret, const char *const *sites, size_t count);

/* The libraries that a file of ELF needs, and those that these need. `site`: the folder of Python's
 * packages that it is in; NULL: none. */
void needed_read(struct facts *facts, const char *path, const char *site);

#endif
