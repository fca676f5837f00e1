/* SPDX-License-Identifier: MIT */
/* Where a file of this installation is: in the build tree, beside the program, or as installed. */
#include "installed_path.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base.h"
#include "readfile.h"
#include "trust.h"

#ifndef PREFIX /* without configure's definition */
#define PREFIX "/usr/local"
#endif

/* Folders above a Python module: gpumap, site-packages, python3, lib, PREFIX. */
enum { MAX_UP = 5, MAX_UP_BUILT = 4 };

/* The file of this program, or of the library with this function, without links. The linker has
 * what the program was called by for the program itself. */
static bool own_file(char ret[PATH_MAX])
{
	Dl_info info;

	if (!dladdr((const void *)own_file, &info) || !info.dli_fname || *info.dli_fname != '/' ||
	    streq(info.dli_fname, program_invocation_name))
		return read_link(ret, PATH_MAX, "/proc/self/exe");
	return realpath(info.dli_fname, ret);
}

static bool readable(char *ret, size_t size, const char *folder, const char *name)
{
	int n = snprintf(ret, size, "%s%s%s", folder, *folder ? "/" : "", name);

	return n > 0 && (size_t)n < size && access(ret, R_OK) == 0;
}

/* Anyone may have put a file above the program. */
static bool is_of(const char *path, uid_t owner)
{
	struct stat st;

	return stat(path, &st) == 0 && (owner_trusted(&st) || st.st_uid == owner);
}

bool installed_path(char *ret, size_t size, const char *built, const char *installed)
{
	const char *below =
		starts_with(installed, PREFIX "/") ? installed + sizeof(PREFIX "/") - 1 : NULL;
	char top[PATH_MAX], status[PATH_MAX], *slash;
	struct stat own;

	if (!own_file(top) || stat(top, &own) < 0)
		return readable(ret, size, "", installed);
	for (int up = 1; up <= MAX_UP && (slash = strrchr(top, '/')); up++) {
		*slash = '\0';
		/* An installed program has no config.status beside or above it. */
		if (up <= MAX_UP_BUILT && readable(status, sizeof(status), top, "config.status") &&
		    readable(ret, size, top, built))
			return true;
		if (below && up > 1 && readable(ret, size, top, below) && is_of(ret, own.st_uid))
			return true;
	}
	return readable(ret, size, "", installed);
}
