/* SPDX-License-Identifier: MIT */
/* See atomic_file.h. */
#include "atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "closing.h"
#include "memory.h"
#include "trust.h"

enum { ATTEMPTS = 100 };

int atomic_folder(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	const size_t length = slash ? (size_t)(slash + 1 - path) : 0;
	CLEANUP_FREE char *folder = xcalloc(1, length + sizeof("."));

	*name = path + length;
	if (!folder)
		return -1;
	memcpy(folder, path, length);
	folder[length] = '.';
	return open_unplanted(folder, O_PATH | O_DIRECTORY, false);
}

bool atomic_create(struct atomic_file *file, int folder, const char *prefix, mode_t mode)
{
	*file = (struct atomic_file){.folder = folder, .fd = -1};
	for (int i = 0; i < ATTEMPTS; i++) {
		snprintf(file->temporary, sizeof(file->temporary), "%s%ld-%d.tmp", prefix,
			 (long)getpid(), i);
		file->fd = openat(folder, file->temporary,
				  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (file->fd >= 0)
			return true;
		if (errno != EEXIST)
			break;
	}
	file->temporary[0] = '\0';
	return false;
}

bool atomic_sync_folder(int folder)
{
	CLEANUP_CLOSE int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) == 0 || errno == EINVAL;
}

bool atomic_publish(struct atomic_file *file, const char *name)
{
	file->failed = "sync";
	if (fsync(file->fd) < 0)
		return false;
	file->failed = "rename";
	if (renameat(file->folder, file->temporary, file->folder, name) < 0)
		return false;
	file->temporary[0] = '\0';
	file->failed = "sync the folder of";
	return atomic_sync_folder(file->folder);
}

void atomic_close(struct atomic_file *file)
{
	int error = errno;

	close_variable(&file->fd);
	if (file->temporary[0])
		unlinkat(file->folder, file->temporary, 0);
	file->temporary[0] = '\0';
	errno = error;
}
