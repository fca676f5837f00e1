/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/findings.h"
#include "run/nearest.h"
#include "run/told.h"

#define HERE "./gpumap.ini"

const char *told_variable(const char *const *envp, const char *name)
{
	size_t length = strlen(name);

	for (; *envp; envp++)
		if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=')
			return (*envp)[length + 1] ? *envp + length + 1 : NULL;
	return NULL;
}

/* --- the file -------------------------------------------------------------------------------- */

static bool own(const struct stat *st)
{
	return S_ISREG(st->st_mode) && (st->st_uid == geteuid() || st->st_uid == 0) &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static bool read_whole(int fd, char **text, size_t *size, struct train_error *error)
{
	ssize_t got = 1;

	*size = 0;
	*text = malloc(GPUMAP_MAX_PROFILE + 1);
	if (!*text)
		return train_nomem(error, HERE);
	while (got && *size <= GPUMAP_MAX_PROFILE) {
		got = read(fd, *text + *size, GPUMAP_MAX_PROFILE + 1 - *size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return train_fail(error, TRAIN_BAD_INPUT, HERE ": cannot be read: %s",
					  strerror(errno));
		*size += (size_t)got;
	}
	return true;
}

/* The file of this folder, which may be anybody's: one that others could have written is left
 * alone. What is looked at is what is read. */
static bool read_here(gpumap_profile **ret, gpumap_report *report, struct train_error *error)
{
	int fd = open(HERE, O_RDONLY | O_CLOEXEC | O_NONBLOCK), code = GPUMAP_OK;
	struct stat st;
	char *text = NULL;
	size_t size;
	bool good = true;

	if (fd < 0 && errno == ENOENT)
		return true;
	if (fd < 0 || fstat(fd, &st) || !own(&st)) {
		fprintf(stderr, "gpumap-train: warning: " HERE
				" is not read: it is no file of yours alone; "
				"name it with --config gpumap.ini if you trust it\n");
	} else {
		good = read_whole(fd, &text, &size, error);
		if (good)
			code = gpumap_profile_parse(ret, text, size, HERE, NULL, report);
	}
	free(text);
	if (fd >= 0)
		close(fd);
	return good && (code == GPUMAP_OK || findings_fail(report, code, error));
}

static bool read_profile(struct told *told, gpumap_profile **ret, const char *const *envp,
			 struct train_error *error)
{
	const char *config = told->config ? told->config : told_variable(envp, "GPUMAP_CONFIG");
	int code;

	*ret = NULL;
	if (!config)
		return read_here(ret, told->report, error);
	code = gpumap_profile_read(ret, config, NULL, told->report);
	return code == GPUMAP_OK || findings_fail(told->report, code, error);
}

/* --- the section -------------------------------------------------------------------------------
 */

static bool no_section(const struct told *told, const gpumap_profile *profile,
		       struct train_error *error)
{
	const gpumap_section *s;
	struct nearest nearest;

	if (!profile)
		return train_fail(
			error, TRAIN_BAD_INPUT,
			"--trainer: no such section: [trainer %.64s]: there is no profile "
			"file; name one with --config, or for gpumap run and what it starts with "
			"GPUMAP_CONFIG",
			told->trainer);
	nearest_begin(&nearest, told->trainer);
	for (size_t i = 0; (s = gpumap_profile_section(profile, "trainer", i)); i++)
		nearest_try(&nearest, gpumap_section_str(s, GPUMAP_SECTION_NAME));
	if (*nearest.name)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "--trainer: %.200s has no [trainer %.64s]; did you mean %s?",
				  gpumap_profile_file(profile), told->trainer, nearest.name);
	return train_fail(error, TRAIN_BAD_INPUT,
			  "--trainer: %.200s has no [trainer %.64s]; write that section, or leave "
			  "--trainer out",
			  gpumap_profile_file(profile), told->trainer);
}

/* The one that is named, or the only one; *ret is NULL where there is none. */
static bool find_section(const struct told *told, const gpumap_profile *profile,
			 const gpumap_section **ret, struct train_error *error)
{
	const gpumap_section *s;

	*ret = NULL;
	for (size_t i = 0; (s = gpumap_profile_section(profile, "trainer", i)); i++) {
		if (!told->trainer && *ret)
			return train_fail(error, TRAIN_BAD_INPUT,
					  "%.200s has several [trainer] sections; name one with "
					  "--trainer, such as --trainer %.64s",
					  gpumap_profile_file(profile),
					  gpumap_section_str(*ret, GPUMAP_SECTION_NAME));
		if (!told->trainer ||
		    strcmp(told->trainer, gpumap_section_str(s, GPUMAP_SECTION_NAME)) == 0)
			*ret = s;
	}
	return *ret || !told->trainer || no_section(told, profile, error);
}

static bool unknown(const struct told *told, const char *name, const char *origin,
		    struct train_error *error)
{
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (int i = 0; i < ROWS; i++)
		nearest_try(&nearest, rows[i].name);
	for (int i = 0; i < told->keys_count; i++)
		nearest_try(&nearest, told->keys[i].name);
	nearest_try(&nearest, "inventory");
	if (*nearest.name)
		return train_fail(error, TRAIN_BAD_INPUT,
				  "%.200s: no such key: '%.64s'; did you mean %s?", origin, name,
				  nearest.name);
	return train_fail(error, TRAIN_BAD_INPUT,
			  "%.200s: no such key: '%.64s'; gpumap-train(1) lists the keys; one that "
			  "begins with x_ is left alone",
			  origin, name);
}

/* A statement, unless an option or the environment made it. */
static bool state(struct told *told, struct told_key *key, const char *value, const char *origin,
		  const char *const *envp, struct train_error *error)
{
	int code;

	if (key->text || told_variable(envp, key->environment))
		return true;
	key->text = value;
	code = gpumap_request_set(told->request, key->name, value, origin, told->report);
	return code == GPUMAP_OK || findings_fail(told->report, code, error);
}

static bool read_entry(struct told *told, const char *name, const char *value, const char *origin,
		       const char *const *envp, struct train_error *error)
{
	if (strncmp(name, "x_", 2) == 0)
		return true;
	if (strcmp(name, "inventory") == 0) {
		if (*value && !told->inventory && !told_variable(envp, "GPUMAP_INVENTORY"))
			told->inventory = value;
		return true;
	}
	for (int i = 0; i < told->keys_count; i++)
		if (strcmp(told->keys[i].name, name) == 0)
			return !*value || state(told, &told->keys[i], value, origin, envp, error);
	for (int i = 0; i < ROWS; i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		if (!told->rows[i].text && *value) {
			told->rows[i].text = value;
			told->rows[i].origin = origin;
		}
		return true;
	}
	return unknown(told, name, origin, error);
}

/* ${VAR} is expanded when the profile knows the environment; what is left is not set. */
static bool expand(const struct told *told, gpumap_profile *profile, const gpumap_section *section,
		   const char *const *envp, struct train_error *error)
{
	bool any = false;
	int code;

	for (size_t i = 0; i < gpumap_section_count(section); i++)
		any = any || strstr(gpumap_section_entry(section, i, GPUMAP_SETTING_TEXT), "${");
	if (!any)
		return true;
	code = gpumap_profile_environ(profile, envp, told->report);
	return code == GPUMAP_OK || findings_fail(told->report, code, error);
}

static bool read_section(struct told *told, const gpumap_section *section, const char *const *envp,
			 struct train_error *error)
{
	for (size_t i = 0; i < gpumap_section_count(section); i++) {
		const char *name = gpumap_section_entry(section, i, GPUMAP_SETTING_NAME);
		const char *value = gpumap_section_entry(section, i, GPUMAP_SETTING_VALUE);
		const char *origin = gpumap_section_entry(section, i, GPUMAP_SETTING_ORIGIN);

		if (strstr(value, "${"))
			return train_fail(error, TRAIN_BAD_INPUT,
					  "%.200s: a variable of '%.64s' is not set; set it, or "
					  "write a default: ${NAME:-value}",
					  origin, value);
		if (!read_entry(told, name, value, origin, envp, error))
			return false;
	}
	return true;
}

bool told_section(struct told *told, gpumap_profile **ret, const char *const *envp,
		  struct train_error *error)
{
	const gpumap_section *section;
	gpumap_profile *profile;

	if (!read_profile(told, &profile, envp, error))
		return false;
	if (find_section(told, profile, &section, error) &&
	    (!section || (expand(told, profile, section, envp, error) &&
			  read_section(told, section, envp, error)))) {
		*ret = profile;
		return true;
	}
	gpumap_profile_free(profile);
	return false;
}
