/* SPDX-License-Identifier: MIT */
/* Profile files on disk. */
#include "profile/profile.h"

#include <errno.h>

#include "readfile.h"
#include "rootfile.h"

static int failure(int error, const char *path, gpumap_report *report)
{
	return report_read(report, error, path, "the profile", GPUMAP_MAX_PROFILE, NULL);
}

/* A file that another file names. */
int profile_read_file(void *data, const char *path, bool optional, char **text, size_t *size,
		      gpumap_report *report)
{
	int error = root_read("", path, GPUMAP_MAX_PROFILE, text, size);

	if (error)
		*text = NULL;
	return error == ENOENT && optional ? GPUMAP_OK : failure(error, path, report);
}

char *profile_include_path(const char *from, struct span name)
{
	const char *slash = strrchr(from, '/');
	struct strbuf path = {0};

	while (span_skip(&name, "./"))
		;
	if (slash && !span_starts(name, "/"))
		strbuf_add(&path, from, (size_t)(slash - from) + 1);
	strbuf_add(&path, name.text, name.length);
	return strbuf_take(&path);
}

EXPORT int gpumap_profile_parse(gpumap_profile **ret, const char *text, size_t size,
				const char *origin, const char *name, gpumap_report *report)
{
	if (size > GPUMAP_MAX_PROFILE)
		return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT, ABOUT(.origin = origin),
				   "larger than %u MiB", GPUMAP_MAX_PROFILE >> 20);
	return profile_load(ret, origin, (struct span){text, size}, name, profile_read_file, NULL,
			    report);
}

EXPORT int gpumap_profile_read(gpumap_profile **ret, const char *path, const char *name,
			       gpumap_report *report)
{
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	int r = failure(read_file(path, false, GPUMAP_MAX_PROFILE, &text, &size), path, report);

	if (r == GPUMAP_OK)
		r = gpumap_profile_parse(ret, text, size, path, name, report);
	return r;
}

int profile_read_fd(gpumap_profile **ret, int fd, const char *path, const char *name,
		    gpumap_report *report)
{
	CLEANUP_FREE char *text = NULL;
	size_t size = 0;
	int r = failure(read_all(fd, GPUMAP_MAX_PROFILE, &text, &size), path, report);

	return r == GPUMAP_OK ? gpumap_profile_parse(ret, text, size, path, name, report) : r;
}
