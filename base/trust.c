/* SPDX-License-Identifier: MIT */
/* See trust.h. */
#include "trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "closing.h"

bool owner_trusted(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0;
}

/* Why a file is not read; NULL: it is trusted. `file` is what was opened, `entry` what its name
 * stands for, by lstat(2): the file, or a link to it. */
static const char *file_distrust(const struct stat *file, const struct stat *entry)
{
	bool link = S_ISLNK(entry->st_mode);

	if (!S_ISREG(file->st_mode))
		return "it is not a regular file";
	if (!owner_trusted(file))
		return "it belongs to another user";
	if (!owner_trusted(entry))
		return link ? "the link to it belongs to another user"
			    : "it was replaced meanwhile";
	if (!link && (entry->st_dev != file->st_dev || entry->st_ino != file->st_ino))
		return "it was replaced meanwhile";
	if (file->st_mode & (S_IWGRP | S_IWOTH))
		return "others may write to it";
	return NULL;
}

int open_trusted(const char *path, const char **why)
{
	/* A pipe without a writer must not stop this process. */
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat file, entry;
	int ret = fd;

	*why = NULL;
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return -1;
	if (fd < 0 || fstat(fd, &file) || lstat(path, &entry))
		*why = strerror(errno);
	else
		*why = file_distrust(&file, &entry);
	if (*why)
		return -1;
	fd = -1;
	return ret;
}

static bool others_may_write(const struct stat *folder)
{
	return folder->st_mode & (S_IWGRP | S_IWOTH) || !owner_trusted(folder);
}

size_t planted_link(const char *path)
{
	char part[PATH_MAX];
	struct stat folder, entry;
	size_t length = strlen(path), end = *path == '/';

	if (length >= sizeof(part) || stat(end ? "/" : ".", &folder))
		return 0;
	for (; end < length; end++) {
		end += strcspn(path + end, "/");
		memcpy(part, path, end);
		part[end] = '\0';
		if (lstat(part, &entry))
			return 0;
		if (S_ISLNK(entry.st_mode) && !owner_trusted(&entry) && others_may_write(&folder))
			return end;
		if (stat(part, &folder))
			return 0;
	}
	return 0;
}

enum { MAX_LINKS = 40, STEP = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* Only with O_DIRECTORY a folder is mounted that is mounted when it is used. */
static int step_into(int folder, const char *name, bool make)
{
	int fd = openat(folder, name, STEP);

	if (fd < 0 && errno == ENOENT && make &&
	    (mkdirat(folder, name, 0777) == 0 || errno == EEXIST))
		fd = openat(folder, name, STEP);
	return fd;
}

/* Opens the last name. A second name of a file can be that of another user. */
static int open_last(int folder, const char *name, int flags)
{
	int fd = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, 0666);
	struct stat file, about;

	if (fd < 0 || (fstat(fd, &file) == 0 && fstat(folder, &about) == 0 &&
		       (!S_ISREG(file.st_mode) || file.st_nlink == 1 || !others_may_write(&about))))
		return fd;
	errno = EMLINK;
	close_variable(&fd);
	return fd;
}

/* Puts what the link stands for before the rest of the path. False with errno: it is no link, or a
 * planted one. */
static bool follow(char path[PATH_MAX], int folder, const char *name, const char *rest)
{
	char target[PATH_MAX], left[PATH_MAX];
	struct stat entry, about;
	CLEANUP_CLOSE int link = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = -1;

	if (link < 0 || fstat(link, &entry) < 0 || fstat(folder, &about) < 0 ||
	    !S_ISLNK(entry.st_mode)) {
		errno = ENOTDIR;
	} else if (owner_trusted(&entry) || !others_may_write(&about)) {
		n = readlinkat(link, "", target, sizeof(target) - 1);
	} else {
		errno = ELOOP;
	}
	if (n < 0)
		return false;
	target[n] = '\0';
	snprintf(left, sizeof(left), "%s", rest);
	if (snprintf(path, PATH_MAX, "%s/%s", target, left) < PATH_MAX)
		return true;
	errno = ENAMETOOLONG;
	return false;
}

static int open_start(const char *path)
{
	return open(*path == '/' ? "/" : ".", STEP);
}

/* Takes the first name off the path. */
static const char *take_name(char name[NAME_MAX + 1], const char *path)
{
	size_t length;

	path += strspn(path, "/");
	length = strcspn(path, "/");
	if (length > NAME_MAX)
		return NULL;
	snprintf(name, NAME_MAX + 1, "%.*s", length ? (int)length : 1, length ? path : ".");
	path += length;
	return path + strspn(path, "/");
}

int open_unplanted(const char *path, int flags, bool folders)
{
	char whole[PATH_MAX], name[NAME_MAX + 1];
	const char *at = whole, *rest;
	CLEANUP_CLOSE int folder = -1;
	int fd = -1;

	errno = ENAMETOOLONG;
	if (strlen(path) >= sizeof(whole))
		return -1;
	snprintf(whole, sizeof(whole), "%s", path);
	folder = open_start(whole);
	for (int links = 0; folder >= 0;) {
		errno = ENAMETOOLONG;
		rest = take_name(name, at);
		if (!rest)
			return -1;
		fd = *rest ? step_into(folder, name, folders) : open_last(folder, name, flags);
		if (fd >= 0 && *rest) {
			close(folder);
			folder = fd;
			at = rest;
		} else if (fd < 0 && (errno == ELOOP || errno == ENOTDIR) && links++ < MAX_LINKS &&
			   (*rest || !(flags & O_NOFOLLOW)) && follow(whole, folder, name, rest)) {
			at = whole;
			if (*whole != '/')
				continue;
			close(folder);
			folder = open_start(whole);
		} else {
			break;
		}
	}
	return fd;
}
