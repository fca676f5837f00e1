/* SPDX-License-Identifier: MIT */
/* Which profile file is read, and whether it is trusted. */
#include "closing.h"
#include "profile/profile.h"
#include "strbuf.h"
#include "trust.h"

#define HERE "./gpumap.ini"

/* *found false: the file does not exist, or it is not trusted. */
static int read_here(gpumap_profile **ret, const char *name, bool *found, gpumap_report *report)
{
	const char *why;
	CLEANUP_CLOSE int fd = open_trusted(HERE, &why);

	*found = fd >= 0;
	if (why)
		report_add(report, FINDING_UNTRUSTED_FILE,
			   ABOUT(.origin = HERE,
				 .fix = "name it with --config gpumap.ini if you trust it"),
			   "not read: %s", why);
	return *found ? profile_read_fd(ret, fd, HERE, name, report) : GPUMAP_OK;
}

/* The user's file, or NULL without a home; free it. */
static int home_file(char **ret, const char *const *envp)
{
	const char *xdg = environ_find(envp, "XDG_CONFIG_HOME"), *home = environ_find(envp, "HOME");
	struct strbuf path = {0};

	*ret = NULL;
	if (xdg && *xdg == '/')
		strbuf_printf(&path, "%s/gpumap/gpumap.ini", xdg);
	else if (home && *home == '/')
		strbuf_printf(&path, "%s/.config/gpumap/gpumap.ini", home);
	else
		return GPUMAP_OK;
	*ret = strbuf_take(&path);
	return *ret ? GPUMAP_OK : GPUMAP_ENOMEM;
}

static int read_users(gpumap_profile **ret, bool *found, const char *name, const char *const *envp,
		      gpumap_report *report)
{
	CLEANUP_FREE char *home = NULL;

	if (home_file(&home, envp) != GPUMAP_OK)
		return report_nomem(report);
	*found = true;
	if (home && access(home, F_OK) == 0)
		return gpumap_profile_read(ret, home, name, report);
	if (access(SYSTEM_FILE, F_OK) == 0)
		return gpumap_profile_read(ret, SYSTEM_FILE, name, report);
	*found = false;
	return GPUMAP_OK;
}

char *profile_places(const char *const *envp)
{
	CLEANUP_FREE char *home = NULL;
	struct strbuf text = {0};

	if (home_file(&home, envp) != GPUMAP_OK)
		return NULL;
	strbuf_printf(&text, HERE "%s%s and " SYSTEM_FILE, home ? ", " : "", home ? home : "");
	return strbuf_take(&text);
}

EXPORT int gpumap_profile_open(gpumap_profile **ret, const char *path, const char *name,
			       const char *const *envp, unsigned flags, gpumap_report *report)
{
	bool found;
	int r;

	if (!path)
		path = environ_nonempty(envp, "GPUMAP_CONFIG");
	if (path)
		return gpumap_profile_read(ret, path, name, report);
	r = read_here(ret, name, &found, report);
	if (r == GPUMAP_OK && !found && !(flags & GPUMAP_OPEN_FLAG_HERE))
		r = read_users(ret, &found, name, envp, report);
	if (r == GPUMAP_OK && found)
		(*ret)->found = true;
	if (r != GPUMAP_OK || found)
		return r;
	if (name)
		return report_fail(report, GPUMAP_EINPUT, FINDING_NO_SUCH_SECTION,
				   ABOUT(.fix = text_ends(name, ".ini")
							? FORMAT("write --config %s for a file",
								 QUOTE(span_of(name)))
							: "name one with --config, or write " HERE),
				   "no such profile: '%s': there is no profile file",
				   QUOTE(span_of(name)));
	return gpumap_profile_new(ret);
}
