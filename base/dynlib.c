/* SPDX-License-Identifier: MIT */
/* See dynlib.h. */
#include "dynlib.h"

#include <dlfcn.h>

void *dynlib_open(const char *file, const struct dynlib_function *functions, size_t count,
		  void *structure, const char **missing)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	*missing = NULL;
	if (!library)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (functions[i].optional || dlsym(library, functions[i].symbol))
			continue;
		*missing = functions[i].symbol;
		dlclose(library);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		void *found = dlsym(library, functions[i].symbol);

		/* Copied, because C has no cast from an object pointer to a function pointer. */
		memcpy((char *)structure + functions[i].offset, &found, sizeof(found));
	}
	return library;
}
