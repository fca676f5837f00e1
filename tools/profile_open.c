/* SPDX-License-Identifier: MIT */
#include "profile_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "readfile.h"
#include "report.h"
#include "strbuf.h"

#define HERE "./gpumap.ini"
#define EVERYWHERE "/etc/gpumap/gpumap.ini"

struct wanted {
	const char *option;
	const gpumap_key *found;
};

static int find_option(const gpumap_key *key, void *data)
{
	struct wanted *wanted = data;
	const char *option = gpumap_key_str(key, GPUMAP_KEY_OPTION);

	if (!option || !streq(option, wanted->option))
		return 0;
	wanted->found = key;
	return 1;
}

bool profile_option(struct profile_options *options, const char *name, const char *value)
{
	if (streq(name, "--config") || streq(name, "--profile")) {
		*(streq(name, "--config") ? &options->config : &options->profile) = value;
		return true;
	}
	return profile_option_as(options, name, value, NULL);
}

const char *profile_option_value(const struct profile_options *options, const char *name)
{
	for (int i = 0; i < options->count; i++)
		if (streq(options->settings[i].option, name))
			return options->settings[i].value;
	return NULL;
}

bool profile_option_as(struct profile_options *options, const char *name, const char *value,
		       const char *origin)
{
	struct wanted wanted = {.option = name};
	int i = 0;

	gpumap_profile_key_each(find_option, &wanted);
	if (!wanted.found)
		return false;
	while (i < options->count && !streq(options->settings[i].option, name))
		i++;
	options->settings[i].option = gpumap_key_str(wanted.found, GPUMAP_KEY_OPTION);
	options->settings[i].key = gpumap_key_str(wanted.found, GPUMAP_KEY_NAME);
	options->settings[i].value = value ? value : "yes";
	options->settings[i].origin = origin ? origin : options->settings[i].option;
	options->count += i == options->count;
	return true;
}

/* Why the file of this folder is not to be trusted, NULL: it is. A profile holds a command,
 * and the folder may be anybody's. */
static const char *distrust(const struct stat *st, const struct stat *link)
{
	if (!S_ISREG(st->st_mode))
		return "it is no regular file";
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return "it belongs to another user";
	if (link->st_uid != geteuid() && link->st_uid != 0)
		return "the link to it belongs to another user";
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return "others may write to it";
	return NULL;
}

static int parse_fd(gpumap_profile **ret, int fd, const char *name, gpumap_report *report)
{
	char *text = NULL;
	size_t size;
	int error = read_all(fd, GPUMAP_MAX_PROFILE, &text, &size), r;

	if (error == ENOMEM)
		return report_nomem(report);
	if (error == EFBIG)
		return report_fail(report, GPUMAP_ELIMIT, FINDING_LIMIT, ABOUT(.origin = HERE),
				   "larger than %u MiB", GPUMAP_MAX_PROFILE >> 20);
	if (error)
		return report_fail(report, GPUMAP_EFILE, FINDING_FILE_ACCESS, ABOUT(.origin = HERE),
				   "cannot read the profile: %s", strerror(error));
	r = gpumap_profile_parse(ret, text, size, HERE, name, report);
	free(text);
	return r;
}

/* What is looked at is what is read: one descriptor. *found false: not read. */
static int read_here(gpumap_profile **ret, const char *name, bool *found, gpumap_report *report)
{
	int fd = open(HERE, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r = GPUMAP_OK;
	struct stat st, link;
	const char *why;

	*found = fd >= 0;
	if (fd < 0 && errno == ENOENT)
		return GPUMAP_OK;
	if (fd < 0 || fstat(fd, &st) || lstat(HERE, &link))
		why = strerror(errno);
	else
		why = distrust(&st, &link);
	if (why) {
		*found = false;
		report_add(report, FINDING_UNTRUSTED_FILE,
			   ABOUT(.origin = HERE,
				 .fix = "name it with --config gpumap.ini if you trust it"),
			   "not read: %s", why);
	} else {
		r = parse_fd(ret, fd, name, report);
	}
	if (fd >= 0)
		close(fd);
	return r;
}

/* The user's file, or NULL without a home; free it. */
static int home_file(char **ret)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
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

static int read_default(gpumap_profile **ret, const char *name, gpumap_report *report)
{
	bool found;
	char *home = NULL;
	int r = read_here(ret, name, &found, report);

	if (found || r != GPUMAP_OK)
		return r;
	if (home_file(&home) != GPUMAP_OK)
		return report_nomem(report);
	if (home && access(home, F_OK) == 0)
		r = gpumap_profile_read(ret, home, name, report);
	else if (access(EVERYWHERE, F_OK) == 0)
		r = gpumap_profile_read(ret, EVERYWHERE, name, report);
	else if (name)
		r = report_fail(report, GPUMAP_EINPUT, FINDING_NO_SUCH_SECTION,
				ABOUT(.fix = "name one with --config, or write " HERE),
				"no such profile: '%s': there is no profile file",
				QUOTE(span_of(name)));
	else
		r = gpumap_profile_new(ret);
	free(home);
	return r;
}

/* A variable that is set and not empty. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

int profile_open(gpumap_profile **ret, const struct profile_options *options, gpumap_report *report)
{
	const char *config = options->config ? options->config : variable("GPUMAP_CONFIG");
	const char *name = options->profile ? options->profile : variable("GPUMAP_PROFILE");
	gpumap_profile *profile = NULL;
	int r = config ? gpumap_profile_read(&profile, config, name, report)
		       : read_default(&profile, name, report);

	if (r != GPUMAP_OK)
		return r;
	r = gpumap_profile_environ(profile, (const char *const *)environ, report);
	for (int i = 0; i < options->count && r != GPUMAP_ENOMEM; i++) {
		int one = gpumap_profile_set(profile, options->settings[i].key,
					     options->settings[i].value,
					     options->settings[i].origin, report);

		r = one == GPUMAP_OK ? r : one;
	}
	if (r == GPUMAP_OK)
		*ret = profile;
	else
		gpumap_profile_free(profile);
	return r;
}

bool profile_check_launch(gpumap_profile *profile, gpumap_report *report)
{
	const gpumap_section *s;
	bool swept = false, good = true;

	for (size_t i = 0; (s = gpumap_profile_section(profile, "sweep", i)); i++) {
		const char *of = NULL;

		for (size_t k = 0; k < gpumap_section_count(s) && !of; k++)
			if (streq(gpumap_section_entry(s, k, GPUMAP_SETTING_NAME), "profile"))
				of = gpumap_section_entry(s, k, GPUMAP_SETTING_VALUE);
		if (!of || !gpumap_profile_name(profile) ||
		    !streq(of, gpumap_profile_name(profile)))
			continue;
		swept = true;
		if (gpumap_profile_sweep(profile, gpumap_section_str(s, GPUMAP_SECTION_NAME), 0,
					 report) == GPUMAP_OK)
			good = gpumap_profile_check(profile, report) == GPUMAP_OK && good;
	}
	if (swept)
		gpumap_profile_sweep(profile, NULL, 0, report);
	else
		good = gpumap_profile_check(profile, report) == GPUMAP_OK;
	return good;
}
