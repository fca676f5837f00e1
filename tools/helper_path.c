/* SPDX-License-Identifier: MIT */
#include "helper_path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "readfile.h"

static bool readable(char *ret, size_t size, const char *folder, const char *name)
{
	int n = snprintf(ret, size, "%s%s%s", folder, *folder ? "/" : "", name);

	return n > 0 && (size_t)n < size && access(ret, R_OK) == 0;
}

/* The build tree that has this program, at most two folders up (tools/.libs). An installed program
 * has no config.status beside or above it. */
static bool build_top(char top[PATH_MAX])
{
	char status[PATH_MAX], *slash;

	if (!read_link(top, PATH_MAX, "/proc/self/exe"))
		return false;
	for (int up = 0; up < 3 && (slash = strrchr(top, '/')); up++) {
		*slash = '\0';
		if (readable(status, sizeof(status), top, "config.status"))
			return true;
	}
	return false;
}

bool helper_path(char *ret, size_t size, const char *built, const char *installed)
{
	char top[PATH_MAX];

	if (build_top(top) && readable(ret, size, top, built))
		return true;
	return readable(ret, size, "", installed);
}
