/* SPDX-License-Identifier: MIT */
/* Functions of a shared library that is opened at run time. */
#ifndef GM_DYNLIB_H
#define GM_DYNLIB_H

#include "base.h"

struct dynlib_function {
	const char *symbol;
	size_t offset; /* of the pointer to it, in the caller's structure */
	bool optional; /* the library may lack it; the pointer is NULL then */
};

/* Opens the library and puts the address of each function into `structure`. Returns what dlclose()
 * takes. NULL: *missing is the first function that the library lacks, or NULL if the library cannot
 * be opened (dlerror() has the reason); the structure is unchanged. */
void *dynlib_open(const char *file, const struct dynlib_function *functions, size_t count,
		  void *structure, const char **missing);

#endif
