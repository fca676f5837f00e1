/* SPDX-License-Identifier: MIT */
#include "trust.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

bool owner_trusted(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0;
}

const char *file_distrust(const struct stat *file, const struct stat *entry)
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
