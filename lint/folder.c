/* SPDX-License-Identifier: MIT */
/* The programs in a folder and in those inside it. */
#include "lint/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "closing.h"
#include "report/report.h"

enum { HEAD = 4096 };

/* Folders that are skipped: how many, and the first of them. */
struct skipped {
	size_t count;
	const char *first;
};

bool lint_is_folder(const char *path)
{
	struct stat status;

	return !streq(path, "-") && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

void lint_add_path(struct lint_paths *ret, const char *path)
{
	*ARENA_NEXT(&ret->arena, ret->list, ret->count, ret->room) =
		arena_strdup(&ret->arena, path);
}

/* Whether a file is one that lint reads; one of another kind is skipped. One that cannot be
 * read is kept, to be reported. */
static bool is_program(const char *path)
{
	char head[HEAD];
	CLEANUP_CLOSE int fd = -1;
	ssize_t n;

	if (lint_kind_by_name(path) > LINT_PROFILE)
		return true;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return lint_kind_by_name(path) != LINT_UNKNOWN;
	n = read(fd, head, sizeof(head));
	return n > 0 && lint_kind_by_head(path, (struct span){head, (size_t)n}) != LINT_UNKNOWN;
}

/* One entry of a folder, whose path is given; *folder: it is one, *error: why that is not known. */
static bool is_wanted(const char *path, bool *folder, int *error)
{
	struct stat status;

	*folder = false;
	*error = lstat(path, &status) == 0 ? 0 : errno;
	if (*error)
		return false;
	*folder = S_ISDIR(status.st_mode);
	/* A link to a folder would lead in circles. */
	if (S_ISLNK(status.st_mode) && stat(path, &status) != 0)
		return false;
	return *folder || (S_ISREG(status.st_mode) && is_program(path));
}

/* Whether programs of others are installed in a folder: by its name, or as Python marks its virtual
 * environments. */
static bool is_installed(const char *path)
{
	CLEANUP_CLOSE int fd = -1;
	struct span name = span_of(path);

	while (name.length > 1 && name.text[name.length - 1] == '/')
		name.length--;
	if (span_is_any(base_name(name), "venv .venv site-packages dist-packages node_modules"))
		return true;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 && faccessat(fd, "pyvenv.cfg", F_OK, 0) == 0;
}

static bool skip(const char *path, struct skipped *skipped)
{
	if (!skipped || !is_installed(path))
		return false;
	skipped->count++;
	if (!skipped->first || strcmp(path, skipped->first) < 0)
		skipped->first = path;
	return true;
}

/* `skipped`: NULL: folders with installed programs are read too. */
static int read_folder(const char *path, struct lint_paths *folders, struct lint_paths *ret,
		       struct skipped *skipped, gpumap_report *report)
{
	CLEANUP_FOLDER DIR *dir = opendir(path);
	const struct dirent *entry;
	const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
	bool folder;
	int error, r = GPUMAP_OK;

	if (!dir)
		return report_read(report, errno, path, "the folder", 0, NULL);
	while ((entry = readdir(dir))) {
		char *inner;

		/* Hidden ones hold the state of other tools. */
		if (*entry->d_name == '.' && !(skipped && streq(entry->d_name, ".venv")))
			continue;
		inner = arena_printf(&ret->arena, "%s%s%s", path, slash, entry->d_name);
		if (!is_wanted(inner, &folder, &error)) {
			if (error && error != ENOENT)
				r = report_read(report, error, inner, "the file", 0, NULL);
		} else if (!folder || !skip(inner, skipped)) {
			lint_add_path(folder ? folders : ret, inner);
		}
	}
	return r;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void report_skipped(const struct skipped *skipped, const char *path, gpumap_report *found)
{
	if (skipped->count == 1)
		report_add(found, FINDING_PASSED_OVER,
			   ABOUT(.origin = path, .fix = "name it to read it"),
			   "a folder with installed programs is skipped: %s",
			   QUOTE(span_of(skipped->first)));
	else if (skipped->count)
		report_add(found, FINDING_PASSED_OVER,
			   ABOUT(.origin = path, .fix = "name one to read it"),
			   "%zu folders with installed programs are skipped; the first is %s",
			   skipped->count, QUOTE(span_of(skipped->first)));
}

int lint_folder(struct lint_paths *ret, const char *path, gpumap_report *found,
		gpumap_report *report)
{
	struct lint_paths folders = {.count = 0};
	struct skipped skipped = {.count = 0};
	/* A named folder is read with everything in it. */
	bool named = is_installed(path);
	size_t before = ret->count;
	int r, worst = GPUMAP_OK;

	lint_add_path(&folders, path);
	while (folders.count) {
		r = read_folder(folders.list[--folders.count], &folders, ret,
				named ? NULL : &skipped, report);
		worst = r == GPUMAP_OK ? worst : r;
	}
	if (ret->count > before)
		qsort(ret->list + before, ret->count - before, sizeof(char *), by_text);
	report_skipped(&skipped, path, found);
	arena_free(&folders.arena);
	return worst;
}
